/* SPDX-License-Identifier: GPL-2.0-or-later */
/* author - names the author of a change in a ledger file. */
#pragma once

#define AUTHOR_MAX 64
/* The name of the calling user, or "uid N" where this machine has no name for it. Returns buf. */
const char *author_name(char buf[static AUTHOR_MAX]);
