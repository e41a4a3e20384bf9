/* usage_ledger - usage from a ledger file, as rows of the table of `reeve usage`. */
#pragma once
#include <stdbool.h>
#include "cli/table.h"

struct usage_ledger {
	const char *path, *by;			  /* account, user, cluster */
	const char *account, *user, *start, *end; /* NULL: any; days were checked */
	bool is_monthly;
};
/* How many rows were added, or < 0. */
int usage_ledger_read(const struct usage_ledger *u, struct table *t, struct err *err);
