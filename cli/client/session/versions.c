/* SPDX-License-Identifier: GPL-2.0-or-later */
/* versions.c - does the controller exchange consoles as this command does; see versions.h. */
#include <errno.h>
#include "cli/cli.h"
#include "cli/client/session/versions.h"
#include "common/err.h"
#include "common/model/console/console.h"

int versions_check(const json_t *answer, struct err *err)
{
	const char *problem = cli_text(answer, "problem"), *remedy = cli_text(answer, "remedy");

	if (problem)
		return err_set(err, -EPROTO, "%s; %s", problem, remedy ? remedy : "");
	if (cli_int(answer, "format", 1) < CONSOLE_FORMAT)
		return err_set(err, -EPROTO,
			       "the controller is older than this command (reeve): they cannot "
			       "exchange input and output of commands; have the site upgrade "
			       "reeve-controller");
	return 0;
}
