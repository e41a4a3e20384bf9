/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unused.c - see unused.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cli/import/unused.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/request.h"
#include "common/utf8.h"
#include "common/wire/doc.h"

#define NAMES_MAX 200 /* that are counted one by one */

struct import_unused_name {
	enum import_unused_kind kind;
	char name[REQUEST_NAME_MAX];
	int64_t jobs, amount, line;
	char why[256]; /* of the first job; "": none */
};

static const char *const words[] = { "partition", "gpu", "qos", "amount" };
static const char *const meanings[] = {
	"not a queue of the cluster in the profile: priced in its default queue",
	"no price in the profile: rejected as no-price",
	"no [Qos] of the profile: priced without",
	"Reeve has no figure for it: not charged",
};
_Static_assert(ARRAY_LEN(words) == _UNUSED_KIND_MAX, "a word a kind");

int import_unused_init(struct import_unused *u, struct err *err)
{
	*u = (struct import_unused){ .of = calloc(NAMES_MAX, sizeof(*u->of)) };
	return u->of ? 0 : err_set(err, -ENOMEM, "out of memory");
}

void import_unused_done(struct import_unused *u)
{
	free(u->of);
}

static void add_job(struct import_unused_name *n, const struct import_unused_job *j)
{
	n->jobs++;
	if (__builtin_add_overflow(n->amount, j->amount, &n->amount))
		n->amount = INT64_MAX;
}

void import_unused_note(struct import_unused *u, const struct import_unused_job *j)
{
	const char *name = *j->name ? j->name : "(no model)";
	struct import_unused_name *to;

	for (size_t k = 0; k < u->n; k++)
		if (u->of[k].kind == j->kind && !strcmp(u->of[k].name, name)) {
			add_job(&u->of[k], j);
			return;
		}
	if (u->n == NAMES_MAX) {
		u->more++;
		return;
	}
	to = &u->of[u->n++];
	*to = (struct import_unused_name){ .kind = j->kind, .line = j->line };
	snprintf(to->name, sizeof(to->name), "%s", name);
	utf8_clean(to->name);
	snprintf(to->why, sizeof(to->why), "%s", j->why ? j->why : "");
	utf8_clean(to->why);
	add_job(to, j);
}

json_t *import_unused_encode(const struct import_unused *u)
{
	_cleanup_doc_ struct doc all = doc_array();

	for (const struct import_unused_name *n = u->of; n < u->of + u->n; n++)
		doc_add(&all,
			json_pack("{s:s,s:s,s:I,s:I,s:I,s:s,s:s}", "kind", words[n->kind],
				  "name", n->name, "jobs", (json_int_t)n->jobs, "amount",
				  (json_int_t)n->amount, "first_line", (json_int_t)n->line,
				  "meaning", meanings[n->kind], "reason", n->why));
	return doc_take(&all);
}

void import_unused_print(const struct import_unused *u, FILE *to)
{
	bool has_names = false;

	if (u->n)
		fputs("not used\n", to);
	for (const struct import_unused_name *n = u->of; n < u->of + u->n; n++) {
		fprintf(to, "  %s %s: %" PRId64 " jobs, first in line %" PRId64, words[n->kind],
			n->name, n->jobs, n->line);
		if (n->kind == UNUSED_AMOUNT)
			fprintf(to, ", %" PRId64 " in all", n->amount);
		fprintf(to, "; %s%s%s\n", meanings[n->kind], *n->why ? ": " : "", n->why);
		has_names |= n->kind != UNUSED_AMOUNT;
	}
	if (u->more)
		fprintf(to, "  and %" PRId64 " jobs with other such names\n", u->more);
	if (has_names)
		fputs("  rename them by --map FILE, kinds partition, qos, and gpu (to MODEL or "
		      "MODEL/NODETYPE)\n",
		      to);
}
