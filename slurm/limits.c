/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.c - read the site's and the user's words on limits; see limits.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/model/amount.h"
#include "common/wire/slurm.h"
#include "slurm/limits.h"

/* K, M and G are powers of 1024. A number without unit is refused, except 0: --mem counts it in MB, other
 * options in bytes. */
static int parse_bytes(const char *name, const char *text, int64_t *ret, struct err *err)
{
	int r;

	if (*text && !text[strspn(text, "0123456789.")] && strcmp(text, "0") != 0)
		return err_set(err, -EINVAL,
			       "%s=%.40s has no unit: write %.40sM for megabytes, or K, G, T",
			       name, text, text);
	r = amount_parse_bytes_in(text, AMOUNT_BINARY, ret, err);
	return r < 0 ? err_prefix(err, r, "%s", name) : 0;
}

/* ---- the site ---- */

/* 1: `word` is NAME=AMOUNT and was read; 0: it has another name. */
static int read_site_amount(struct limits_site *s, const char *name, const char *value,
			    struct err *err)
{
	const struct {
		const char *name;
		int64_t *bytes;
	} amounts[] = { { "default-vmem", &s->default_vmem_bytes },
			{ "max-vmem", &s->max_vmem_bytes },
			{ "default-jobfs", &s->default_jobfs_bytes },
			{ "max-jobfs", &s->max_jobfs_bytes } };

	for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
		if (!strcmp(name, amounts[i].name))
			return parse_bytes(name, value, amounts[i].bytes, err) ?: 1;
	return 0;
}

static int read_site_word(struct limits_site *s, const char *word, struct err *err)
{
	const char *value = strchr(word, '=');
	char name[32];
	int r;

	snprintf(name, sizeof(name), "%.*s", value ? (int)(value - word) : 0, word);
	value = value ? value + 1 : "";
	r = read_site_amount(s, name, value, err);
	if (r)
		return r < 0 ? r : 0;
	if (!strcmp(name, "unguarded") && (!strcmp(value, "run") || !strcmp(value, "refuse"))) {
		s->runs_unguarded = !strcmp(value, "run");
		return 0;
	}
	if (!strcmp(name, "socket") && *value == '/' && strlen(value) < sizeof(s->socket)) {
		strcpy(s->socket, value);
		return 0;
	}
	return err_set(
		err, -EINVAL,
		"plugstack.conf, reeve_spank.so: \"%.60s\" is none of default-vmem=, max-vmem=, default-jobfs=, "
		"max-jobfs= (amounts), unguarded=run|refuse, socket=/PATH",
		word);
}

int limits_read_site(int n_words, char *const *words, struct limits_site *ret, struct err *err)
{
	*ret = (struct limits_site){ .socket = SLURM_SOCKET };
	for (int i = 0; i < n_words; i++) {
		int r = read_site_word(ret, words[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the job ---- */

/* `text` NULL: not given, and *ret keeps the site's default. With a bound and neither option nor default there
 * is nothing to enforce, so the job has to state it. */
static int read_bounded(const char *option, const char *text, int64_t max, int64_t *ret,
			struct err *err)
{
	char want[AMOUNT_TEXT_MAX], most[AMOUNT_TEXT_MAX];
	int r = text ? parse_bytes(option, text, ret, err) : 0;

	if (r < 0)
		return r;
	if (text && !*ret)
		return err_set(
			err, -EINVAL,
			"%s=0 would leave the job nothing: leave the option out for the site's default",
			option);
	if (max && !*ret)
		return err_set(err, -ERANGE,
			       "state %s=SIZE: this site allows up to %s and has no default",
			       option, amount_format_bytes_exact(max, most));
	if (max && *ret > max)
		return err_set(err, -ERANGE, "%s=%s is above this site's bound of %s", option,
			       amount_format_bytes_exact(*ret, want),
			       amount_format_bytes_exact(max, most));
	return 0;
}

int limits_read_options(const struct limits_site *site, const struct limits_options *o,
			struct limits *ret, struct err *err)
{
	int r;

	*ret = (struct limits){ .vmem_bytes = site->default_vmem_bytes,
				.jobfs_bytes = site->default_jobfs_bytes };
	r = read_bounded("--vmem", o->vmem, site->max_vmem_bytes, &ret->vmem_bytes, err);
	if (r >= 0)
		r = read_bounded("--jobfs", o->jobfs,
				 o->jobfs || ret->jobfs_bytes ? site->max_jobfs_bytes : 0,
				 &ret->jobfs_bytes, err);
	if (r < 0 || !o->vmem_action)
		return r;
	ret->refuses = !strcmp(o->vmem_action, "enomem");
	if (!ret->refuses && strcmp(o->vmem_action, "kill") != 0)
		return err_set(err, -EINVAL,
			       "--vmem-action=%.40s is neither \"kill\" nor \"enomem\"",
			       o->vmem_action);
	return 0;
}

/* No limit at all is above any bound, and becomes the bound. */
static bool lower_amount(int64_t *bytes, int64_t max)
{
	if (!max || (*bytes && *bytes <= max))
		return false;
	*bytes = max;
	return true;
}

bool limits_lower(const struct limits_site *site, struct limits *l)
{
	bool is_lowered = lower_amount(&l->vmem_bytes, site->max_vmem_bytes);

	return (l->jobfs_bytes && lower_amount(&l->jobfs_bytes, site->max_jobfs_bytes)) ||
	       is_lowered;
}

const char *limits_encode(const struct limits *l, char buf[static LIMITS_TEXT_MAX])
{
	snprintf(buf, LIMITS_TEXT_MAX, "vmem=%" PRId64 " jobfs=%" PRId64 " action=%s",
		 l->vmem_bytes, l->jobfs_bytes, l->refuses ? "enomem" : "kill");
	return buf;
}

/* What comes back must be what was written, byte for byte; sscanf() alone accepts more. */
int limits_decode(const char *text, struct limits *ret, struct err *err)
{
	char action[8] = "", again[LIMITS_TEXT_MAX];
	struct limits l = { 0 };

	if (sscanf(text, "vmem=%" SCNd64 " jobfs=%" SCNd64 " action=%7s", &l.vmem_bytes,
		   &l.jobfs_bytes, action) == 3) {
		l.refuses = !strcmp(action, "enomem");
		/* Only what limits_encode() writes: no sign, no blank, nothing behind it. */
		if (l.vmem_bytes >= 0 && l.jobfs_bytes >= 0 &&
		    !strcmp(limits_encode(&l, again), text)) {
			*ret = l;
			return 0;
		}
	}
	return err_set(
		err, -EINVAL,
		"SPANK_REEVE_LIMITS=%.80s is not what reeve_spank.so wrote at submission",
		text);
}
