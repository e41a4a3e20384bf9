/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger - judges a database: of a file its consistency and its schema, of a PostgreSQL server also version and settings. */
#pragma once
#include <stdint.h>
#include "cli/admin/doctor/judge/services.h"

struct judge_database {
	const char *check;	    /* "ledger", "store" */
	char place[512];	    /* a path, or the server's names */
	char why[JUDGE_WHY_MAX];    /* it could not be opened or asked */
	bool is_there;		    /* false: no such file yet */
	bool was_cut;		    /* the check of its pages took too long and was given up */
	char damage[JUDGE_WHY_MAX]; /* what quick_check said, where that is not "ok" */
	int64_t version;	    /* of its schema */
	int64_t newest; /* that this command knows; 0: the version is not compared */
	int64_t bytes;
};
void judge_database(struct judge_report *r, const struct judge_database *d);

#define JUDGE_SETTINGS_MAX 16
/* Has pg_stat_checkpointer; those before have pg_stat_bgwriter. */
#define CHECKPOINTER_SERVER 170000
struct judge_setting {
	char name[64], value[64];
};
struct judge_postgres {
	char place[512];	 /* never with a password */
	char why[JUDGE_WHY_MAX]; /* it does not answer */
	int64_t server;		 /* 150004: 15.4 */
	bool has_ledger;
	int64_t version, newest; /* as above */
	struct judge_setting settings[JUDGE_SETTINGS_MAX];
	size_t n_settings;
	/* Checkpoints since the server's statistics began: by checkpoint_timeout, and sooner. has_checkpoints false: it does not say. */
	int64_t n_timed, n_sooner;
	bool has_checkpoints;
};
void judge_postgres(struct judge_report *r, const struct judge_postgres *p);
