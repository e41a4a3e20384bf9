/* SPDX-License-Identifier: GPL-2.0-or-later */
/* change - what differs between two configurations of one table of keys, and which of it counts at
 * once. Pure: a daemon that reads its configuration again (SIGHUP) logs the changes that this names.
 *
 * No key holds a secret: passwords and tokens are in files of their own, which a key names.
 */
#pragma once
#include <stdbool.h>
#include "common/conf/conf.h"

#define CONF_CHANGE_VALUE_MAX 160
#define CONF_CHANGE_TEXT_MAX 640

struct conf_change {
	char section[160];	    /* "Agent", "Queue express" */
	const struct conf_key *key; /* NULL: of the section as a whole */
	/* Without control characters. Long ones are cut to the part in which they differ. */
	char was[CONF_CHANGE_VALUE_MAX], is[CONF_CHANGE_VALUE_MAX];
	bool is_added;	 /* key NULL: the section is new, */
	bool is_removed; /* or gone; neither: another one is the first of its kind */
};

/* How many changes there were. */
struct conf_tally {
	int keys, sections; /* of all; sections: added, removed or in another order */
	int restart;	    /* of these: count at the next start */
};

/* Where the changes go, and their number. */
struct conf_changes {
	void (*tell)(void *ctx, const struct conf_change *c);
	void *ctx;
	struct conf_tally tally;
};

/* Two objects that the keys of `section` are set in. `name`: of a named section, else "". */
struct conf_pair {
	const char *section, *name;
	void *now, *fresh;
};

/* Has the key another value in the second object? */
bool conf_differs(const struct conf_key *k, const void *a, const void *b);
/* Tells each key of the pair that differs. */
void conf_compare(const struct conf_key *keys, const struct conf_pair *p,
		  struct conf_changes *to);
/* A change of a section as a whole; it is counted. */
void conf_change_tell(struct conf_changes *to, const struct conf_change *c);

/* Exchanges the values of those keys of the pair that count at the next start: then `fresh` has the
 * values that are in force until then. Once more undoes it. What a program derived from such a value it
 * exchanges itself. */
void conf_swap_restart(const struct conf_key *keys, const struct conf_pair *p);

/* "[Agent] KillGrace: 0:00:30 -> 0:01:00", with "; takes effect at the next restart" where it does. */
const char *conf_change_format(const struct conf_change *c,
			       char buf[static CONF_CHANGE_TEXT_MAX]);
/* "3 keys changed, 1 needs a restart", "2 keys and 1 section changed", "nothing changed" */
#define CONF_TALLY_TEXT_MAX 128
const char *conf_tally_format(const struct conf_tally *t, char buf[static CONF_TALLY_TEXT_MAX]);
