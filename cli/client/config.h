/* config - where the controller is and what this user's jobs default to.
 *
 * /etc/reeve/reeve.conf, then ~/.config/reeve.conf, then $REEVE_CONTROLLER, then --controller;
 * --config FILE stands in for both files. Files that do not exist are passed by.
 */
#pragma once
#include "common/model/request.h"

struct err;

#define CLI_CONFIG_SITE "/etc/reeve/reeve.conf"
#define CLI_CONFIG_CONTROLLER "reeve"

struct cli_config {
	char *controller, *munge_socket, *ca_file; /* NULL: not set */
	char *controller_user;			   /* as typed; NULL: not set */
	bool has_controller_uid;		   /* else our credentials are for anyone */
	uint32_t controller_uid;
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX];
	int64_t timeout_s;
	int memory_unit; /* enum amount_units: what MB, G ... of requests mean */
};

/* `file`, `controller`: what --config and --controller gave, or NULL. *c is zeroed beforehand;
 * cli_config_done() is due also after an error. -EINVAL: no controller is known anywhere. */
int cli_config_load(struct cli_config *c, const char *file, const char *controller,
		    struct err *err);
void cli_config_done(struct cli_config *c);
