/* SPDX-License-Identifier: GPL-2.0-or-later */
/* versions.h - whether node, controller and this command exchange the bytes of interactive commands in one form (CONSOLE_FORMAT).
 */
#pragma once
#include <jansson.h>

struct err;

/* By the controller's answer to a request of a console. -EPROTO with which of them is older, and what to do. A controller that is newer than
 * this command has refused the request by itself. */
int versions_check(const json_t *answer, struct err *err);
