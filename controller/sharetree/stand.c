/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stand.c - counts the users before one, and words the result; see stand.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "controller/sharetree/stand.h"

void stand_find(const struct sharetree_view *v, size_t row, struct stand *ret)
{
	struct stand s = { .place = 1,
			   .fairshare = v->results[row].fairshare,
			   .level_fs = NAN };

	for (size_t i = 0; i < v->n; i++) {
		if (!*v->rows[i].user)
			continue;
		s.users++;
		if (v->results[i].fairshare > s.fairshare)
			s.place++;
		else if (i != row && v->results[i].fairshare == s.fairshare)
			s.tied++;
	}
	for (int32_t up = v->rows[row].parent; up > 0; up = v->rows[up].parent) {
		if (isnan(v->results[up].level_fs))
			continue;
		s.level_fs = v->results[up].level_fs;
		s.level_account = v->rows[up].account;
		break;
	}
	*ret = s;
}

/* What the account used beside its share: why the place is what it is. */
static int write_account(const struct stand *s, char *buf, size_t size)
{
	if (!s->level_account || isnan(s->level_fs))
		return 0;
	if (isinf(s->level_fs))
		return snprintf(buf, size, " Account %s has used nothing that still counts.",
				s->level_account);
	if (s->level_fs == 1)
		return snprintf(buf, size, " Account %s has used its share.", s->level_account);
	return snprintf(
		buf, size,
		" Account %s has used %s than its share (level fairshare %.3f): its jobs "
		"start %s.",
		s->level_account, s->level_fs < 1 ? "more" : "less", s->level_fs,
		s->level_fs < 1 ? "later" : "earlier");
}

static int write_order(const struct stand *s, int64_t weight, char *buf, size_t size)
{
	char before[64] = "no user's jobs start";

	if (s->place > 1)
		snprintf(before, sizeof(before), "jobs of %" PRId64 " user%s start",
			 s->place - 1, s->place == 2 ? "" : "s");
	return snprintf(buf, size,
			": where fairshare decides, %s before yours. It adds %.0f of at most "
			"%" PRId64 " to the priority of your jobs.",
			before, s->fairshare * (double)weight, weight);
}

const char *stand_words(const struct stand *s, int64_t weight, char buf[static STAND_WORDS_MAX])
{
	size_t size = STAND_WORDS_MAX;
	int n = snprintf(buf, size, "Place %" PRId64 " of %" PRId64 " users", s->place,
			 s->users);

	if (s->tied)
		n += snprintf(buf + n, size - (size_t)n, ", with %" PRId64 " other%s", s->tied,
			      s->tied == 1 ? "" : "s");
	if (weight == 0)
		n += snprintf(buf + n, size - (size_t)n,
			      ". Fairshare has no weight in this site's priority.");
	else
		n += write_order(s, weight, buf + n, size - (size_t)n);
	write_account(s, buf + n, size - (size_t)n);
	return buf;
}
