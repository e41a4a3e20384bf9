/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outages - outages that operators declared: part of the contract of store.h. Nothing is charged or refunded by them. */
#pragma once
#include "controller/ledger/store.h"
#include "controller/policy/quota/outage.h"

#define STORE_OUTAGES_MAX 1000 /* in one ledger: views read them all */

struct store_outage {
	int64_t id, at_ns; /* at_ns: when it was declared */
	int64_t from_ns, to_ns;
	const char *cluster; /* "": all clusters */
	const char *reason, *author;
};

/* Declares one. *ret_id is its number. -EINVAL: it ends before it begins, lacks reason or author, or a reason of
 * STORE_REASON_MAX (adjust.h) or more; -EDQUOT: there are STORE_OUTAGES_MAX. The reason becomes one line. */
int store_outage_add(struct store *s, const struct store_outage *o, int64_t *ret_id,
		     struct err *err);
/* -ENOENT: there is none of that number. */
int store_outage_remove(struct store *s, int64_t id, struct err *err);

/* Calls fn for each that lies at least in part in [from_ns, to_ns), by its beginning. */
struct store_outages {
	const char *cluster; /* its own and all clusters'; "": the latter; NULL: any */
	int64_t from_ns, to_ns;
};
typedef int (*store_outage_fn)(void *ctx, const struct store_outage *o, struct err *err);
int store_outage_each(struct store *s, const struct store_outages *which, store_outage_fn fn,
		      void *ctx, struct err *err);
/* The same as a list; the caller frees ret->of. -ENOMEM. */
int store_outage_read(struct store *s, const struct store_outages *which,
		      struct outage_list *ret, struct err *err);
/* "2026-11-21", the beginning of that day in the ledger's zone, or a time as store_parse_at() reads it. -EINVAL. */
int store_outage_parse(struct store *s, const char *text, int64_t *ret_ns, struct err *err);
