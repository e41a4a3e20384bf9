/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stand.c - counts the users before one, and words the result; see stand.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "controller/config/ordering.h"
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
static int write_account(const struct stand *s, bool is_ordered, char *buf, size_t size)
{
	const char *result = "";

	if (!s->level_account || isnan(s->level_fs))
		return 0;
	if (isinf(s->level_fs))
		return snprintf(buf, size, " Account %s has used nothing that still counts.",
				s->level_account);
	if (s->level_fs == 1)
		return snprintf(buf, size, " Account %s has used its share.", s->level_account);
	if (is_ordered)
		result =
			s->level_fs < 1 ? ": its jobs start later" : ": its jobs start earlier";
	return snprintf(
		buf, size, " Account %s has used %s than its share (level fairshare %.3f)%s.",
		s->level_account, s->level_fs < 1 ? "more" : "less", s->level_fs, result);
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

const char *stand_words(const struct stand *s, const struct config *c, const char *cluster,
			char buf[static STAND_WORDS_MAX])
{
	const char *why_not = config_ordering_without_usage(c, cluster);
	size_t size = STAND_WORDS_MAX;
	int n = snprintf(buf, size, "Place %" PRId64 " of %" PRId64 " users", s->place,
			 s->users);

	if (s->tied)
		n += snprintf(buf + n, size - (size_t)n, ", with %" PRId64 " other%s", s->tied,
			      s->tied == 1 ? "" : "s");
	if (why_not)
		n += snprintf(buf + n, size - (size_t)n, ". %s", why_not);
	else
		n += write_order(s, c->policy.weight_fairshare, buf + n, size - (size_t)n);
	write_account(s, !why_not, buf + n, size - (size_t)n);
	return buf;
}

/* The classic scale is from the ML Cloud's page, "Your Fairshare Score Meaning". */
static const char *const meanings[] = {
	[CONFIG_FAIR_TREE] =
		"Fair Tree. LevelFS compares a row with the others of its level: above 1 it used less "
		"than its share, 1 exactly its share, 0.5 twice its share. FairShare is a place among "
		"all users, rank / users, and no score: the scale on which 0.5 means exactly the "
		"share and 0.25 twice the share is that of the classic algorithm (--algorithm classic).",
	[CONFIG_FAIR_CLASSIC] =
		"Classic. FairShare is 2^(-usage / share), a score: 1.0 unused, above 0.5 less than "
		"the share (0.7071 half of it), 0.5 exactly the share, 0.25 twice the share, 0 vastly "
		"more.",
};

const char *stand_legend(const struct config *c, enum config_fairshare algorithm,
			 char buf[static STAND_LEGEND_MAX])
{
	const char *why_not = config_ordering_without_usage(c, NULL);

	if (!why_not && c->policy.fairshare != (int)algorithm)
		why_not =
			"The site orders jobs by the other algorithm: these scores order nothing.";
	snprintf(
		buf, STAND_LEGEND_MAX, "%s %s", meanings[algorithm],
		why_not ? why_not
			: "Where fairshare decides, jobs of the user with the largest FairShare "
			  "start first.");
	return buf;
}
