/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config - reads the address of the controller, and defaults of this user's jobs.
 *
 * /etc/reeve/reeve.conf, then ~/.config/reeve.conf, then $REEVE_CONTROLLER, then --controller;
 * later ones take precedence. --config FILE replaces both files. A missing file is no error,
 * unless --config names it.
 */
#pragma once
#include "common/model/request.h"

struct err;

#define CLI_CONFIG_SITE "/etc/reeve/reeve.conf"
#define CLI_CONFIG_CONTROLLER "reeve"

struct cli_config {
	char *controller, *munge_socket, *ca_file; /* NULL: not set */
	char *client_certificate, *client_key;	   /* NULL: not set */
	char *controller_user;			   /* as typed; NULL: not set */
	bool has_controller_uid;		   /* false: anyone may read our credentials */
	uint32_t controller_uid;
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX];
	int64_t timeout_s;
	int memory_unit; /* enum amount_units: what MB, G ... of requests mean */
};

/* `file`, `controller`: the values of --config and --controller, or NULL. The caller zeroes *c,
 * and calls cli_config_done() also after an error. -EINVAL: a fault in a file, or no address of
 * a controller. */
int cli_config_load(struct cli_config *c, const char *file, const char *controller,
		    struct err *err);
void cli_config_done(struct cli_config *c);
