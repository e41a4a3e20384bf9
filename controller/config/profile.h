/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile - finds the file of a published policy by its name. */
#pragma once

struct err;

/* The path of a profile: itself when it holds a '/' or ends in ".conf"; else NAME.conf in
 * $REEVE_PROFILES if that is set, otherwise in share/reeve/profiles beside the running
 * program's directory or, of a build tree, in units/profiles. *ret is malloc()ed. -ENOENT: no
 * such profile, with those there are. */
int profile_find(const char *name, char **ret, struct err *err);
