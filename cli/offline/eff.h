/* eff - requested against used from a ledger file, as GET /v1/eff answers it. */
#pragma once
#include <jansson.h>
#include "controller/ledger/usage/eff.h"

struct err;

struct eff_ledger {
	const char *path, *profile; /* profile NULL: priced as it was imported */
	const char *start, *end;    /* NULL: any; days were checked */
	struct store_eff_ask ask;   /* but for the days and the price */
};
int eff_ledger_read(struct eff_ledger *l, json_t **ret_answer, struct err *err);
