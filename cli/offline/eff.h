/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff - the document of GET /v1/eff, from a ledger file. */
#pragma once
#include <jansson.h>
#include "controller/ledger/usage/eff.h"

struct err;

struct eff_ledger {
	const char *path, *profile; /* profile NULL: priced as it was imported */
	const char *start, *end;    /* NULL: any; valid days */
	struct store_eff_ask ask;   /* all but the days and the price */
};
/* *ret_answer has the form of the controller's answer; the caller frees it. -ENOENT: no such file or
 * profile; -EBADMSG: a fault in the profile. */
int eff_ledger_read(struct eff_ledger *l, json_t **ret_answer, struct err *err);
