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
#include "common/wire/doc.h"

#define NAMES_MAX 200 /* that are counted one by one */

struct import_unused_name {
	enum import_unused_kind kind;
	char name[REQUEST_NAME_MAX];
	int64_t jobs;
};

static const char *const words[] = { "partition", "gpu", "qos" };
static const char *const meanings[] = {
	"not a queue of the cluster in the profile: priced in its default queue",
	"no price in the profile: rejected as no-price",
	"no [Qos] of the profile: priced without",
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

void import_unused_note(struct import_unused *u, enum import_unused_kind kind, const char *name)
{
	struct import_unused_name *to;

	name = *name ? name : "(no model)";
	for (size_t k = 0; k < u->n; k++)
		if (u->of[k].kind == kind && !strcmp(u->of[k].name, name)) {
			u->of[k].jobs++;
			return;
		}
	if (u->n == NAMES_MAX) {
		u->more++;
		return;
	}
	to = &u->of[u->n++];
	*to = (struct import_unused_name){ .kind = kind, .jobs = 1 };
	snprintf(to->name, sizeof(to->name), "%s", name);
}

json_t *import_unused_encode(const struct import_unused *u)
{
	_cleanup_doc_ struct doc all = doc_array();

	for (const struct import_unused_name *n = u->of; n < u->of + u->n; n++)
		doc_add(&all,
			json_pack("{s:s,s:s,s:I,s:s}", "kind", words[n->kind], "name", n->name,
				  "jobs", (json_int_t)n->jobs, "meaning", meanings[n->kind]));
	return doc_take(&all);
}

void import_unused_print(const struct import_unused *u, FILE *to)
{
	if (u->n)
		fputs("not used\n", to);
	for (const struct import_unused_name *n = u->of; n < u->of + u->n; n++)
		fprintf(to, "  %s %s: %" PRId64 " jobs; %s\n", words[n->kind], n->name, n->jobs,
			meanings[n->kind]);
	if (u->more)
		fprintf(to, "  and %" PRId64 " jobs with other such names\n", u->more);
	if (u->n)
		fputs("  rename them by --map FILE, kinds partition, gpu and qos\n", to);
}
