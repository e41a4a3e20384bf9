/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names - the name of a group or project by its id: from the system's groups, and from /etc/projid. */
#pragma once
#include "storage/listing.h"

/* Finds the project of that id in the text of an /etc/projid: lines "NAME:ID". False: no name. Pure. */
bool names_find_project(const char *text, int64_t id, char ret[static LISTING_NAME_MAX]);

struct names;
/* `projid`: the file; a missing file has no names. */
int names_open(const char *projid, struct names **ret, struct err *err);
struct names *names_close(struct names *n);
/* Sets the name of a row that has an id alone; without a name for the id, its digits. */
void names_set(const struct names *n, struct listing_row *row);
