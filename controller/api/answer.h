/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answer - sends the answer of a finished call: its document, or its refusal. */
#pragma once
#include "controller/api/call.h"

/* `r`: what the call's function returned; CALL_DEFERRED: sends nothing. Frees the call's body
 * and answer in any case. */
void answer_finish(struct call *c, int r, const struct err *err);
