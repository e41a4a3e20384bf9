/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link - munge here, and the exchange with the controller. */
#pragma once
#include "cli/admin/doctor/judge/link.h"

struct cli;

/* Makes and decodes a credential; `socket` NULL: munge's own. */
void gather_munge(const char *socket, struct judge_munge *ret);

struct gather_link {
	const char *why;		    /* not NULL: nothing is asked, for this reason */
	const char *url;		    /* several by commas; NULL: none is configured */
	const char *munge_socket, *ca_file; /* NULL: default */
	const char *client_certificate, *client_key; /* NULL: none */
	const char *controller_user;		     /* who must have signed its answers */
	long timeout_s;
};
/* Two questions: one whose answer may be of anyone, and as root one whose answer must be the controller's. */
void gather_about(const struct gather_link *link, struct judge_about *ret);
/* What it says of the node; or of all nodes, compared with `version`, the controller's. */
void gather_registered(const struct gather_link *link, struct judge_registered *ret);
void gather_nodes(const struct gather_link *link, const char *version, struct judge_nodes *ret);
