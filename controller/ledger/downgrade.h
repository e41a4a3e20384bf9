/* SPDX-License-Identifier: GPL-2.0-or-later */
/* downgrade.h - takes a ledger back to the tables of the release before, whose controller refuses those of a newer one. */
#pragma once

struct err;

/* The release to go back to, and the version of its schema. */
#define STORE_RELEASE_BEFORE "0.1.0"
#define STORE_SCHEMA_BEFORE 41

struct store_downgraded {
	int from, to; /* versions of the schema */
};

/* In one transaction, alone with the ledger; an older ledger is brought forward first. What is in it stays: each change of
 * the schema since that release has its way back here, and test_downgrade compares the result with the tables that release
 * makes. -EBUSY: a controller has the ledger. */
int store_downgrade(const char *place, struct store_downgraded *ret, struct err *err);
