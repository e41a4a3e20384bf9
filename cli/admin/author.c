/* SPDX-License-Identifier: GPL-2.0-or-later */
/* author.c - names the author of a change in a ledger file: the user who runs the command. */
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>
#include "cli/admin/author.h"

const char *author_name(char buf[static AUTHOR_MAX])
{
	const struct passwd *me = getpwuid(getuid());

	if (me)
		snprintf(buf, AUTHOR_MAX, "%s", me->pw_name);
	else
		snprintf(buf, AUTHOR_MAX, "uid %u", (unsigned)getuid());
	return buf;
}
