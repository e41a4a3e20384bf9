/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor - `reeve admin doctor`: looks for what keeps a node, the controller's host or a login machine from working, and names the command
 * that mends it.
 *
 * gather/ finds facts out (thin, one file a subject), judge/ decides about them (pure); the files here say which facts are asked of which
 * kind of machine. To add a check: a struct with its facts and a function in judge/, one that fills it in in gather/, a call in node.c,
 * controller.c or shared.c, a row in the table of docs/operation.md.
 */
#pragma once
#include "cli/admin/doctor/gather/config.h"
#include "cli/admin/doctor/gather/link.h"
#include "cli/cli.h"

struct config;

struct doctor {
	struct cli *cli;
	struct judge_report *report;
	const char *root; /* stands before the paths of users' ways in; "": this machine */
	const char *typed_url, *typed_config; /* --controller, --config; NULL: not given */
	const char *agent_path, *controller_path;
	const char *job_user, *job_account; /* NULL: not given */
	bool is_node, is_controller;
	/* as read */
	struct gather_config agent; /* where is_node */
	struct config *controller;  /* where is_controller; NULL: it cannot be read */
	char listen_url[128];	    /* of the controller here; "" */
	struct gather_link link;
	struct judge_about about;
};

/* Sets is_node and is_controller by what is enabled here. */
void doctor_detect(struct doctor *d);
/* Reads the configurations of this kind of machine, and judges them. */
void doctor_read(struct doctor *d);
void doctor_done(struct doctor *d);
/* munge, the controller, the clocks; sets d->about. */
void doctor_link(struct doctor *d);
void doctor_node(struct doctor *d);
void doctor_controller(struct doctor *d);
/* Versions of what is installed and what runs; the test job. */
void doctor_rest(struct doctor *d);
/* An element of `paths` of files or directories to be looked at. */
struct judge_path doctor_path(enum judge_path_kind kind, const char *path, uint32_t forbidden);
