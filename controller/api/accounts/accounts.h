/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts - routes that show and change accounts, and adjust charges. */
#pragma once
#include "controller/api/call.h"

int route_accounts(struct call *c, struct err *err);
int route_change_accounts(struct call *c, struct err *err);
int route_accounts_log(struct call *c, struct err *err);
int route_adjust(struct call *c, struct err *err);
int route_entries(struct call *c, struct err *err);
