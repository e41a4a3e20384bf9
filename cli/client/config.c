/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.c - reads reeve.conf of the site and of the user, and the environment; see config.h. */
#include <errno.h>
#include <string.h>
#include "cli/client/config.h"
#include "common/auth/auth.h"
#include "common/conf/conf.h"
#include "common/err.h"

#define AT(field) offsetof(struct cli_config, field)

static const struct conf_key keys[] = {
	{ "Client", "Controller", CONF_TEXT, AT(controller), 0, 0, NULL,
	  "address of the controller", "http://head:8640", CONF_RESTART },
	{ "Client", "ControllerUser", CONF_TEXT, AT(controller_user), 0, 0, NULL,
	  "user whom the controller runs as: only they can read this command's credentials; "
	  "default: " CLI_CONFIG_CONTROLLER ", where there is such a user here, else anyone",
	  "reeve", CONF_RESTART },
	{ "Client", "MungeSocket", CONF_TEXT, AT(munge_socket), 0, 0, NULL,
	  "socket of munged, where it is not the usual one", "/run/munge/munge.socket.2",
	  CONF_RESTART },
	{ "Client", "CaFile", CONF_TEXT, AT(ca_file), 0, 0, NULL,
	  "certificate authorities for https; default: the system's", "/etc/reeve/ca.pem",
	  CONF_RESTART },
	{ "Client", "ClientCertificate", CONF_TEXT, AT(client_certificate), 0, 0, NULL,
	  "file (PEM) with a certificate, where the controller asks for one",
	  "/etc/reeve/tls/login.pem", CONF_RESTART },
	{ "Client", "ClientKey", CONF_TEXT, AT(client_key), 0, 0, NULL,
	  "file (PEM) with its key", "/etc/reeve/tls/login.key", CONF_RESTART },
	{ "Client", "Cluster", CONF_NAME, AT(cluster), 0, 0, NULL,
	  "cluster of jobs that name none", "main", CONF_RESTART },
	{ "Client", "Account", CONF_NAME, AT(account), 0, 0, NULL,
	  "account of jobs that name none", "physics", CONF_RESTART },
	{ "Client", "MemoryUnit", CONF_ENUM, AT(memory_unit), 0, 0, amount_units_words,
	  "what M, MB, G, GB of requests mean; as the controller's MemoryUnit says", "binary",
	  CONF_RESTART },
	{ "Client", "Timeout", CONF_SECONDS, AT(timeout_s), 1, 3600, NULL,
	  "how long to wait for an answer", "30s", CONF_RESTART },
	{ NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, CONF_RESTART },
};

/* 0 also where the file does not exist; a file that exists and cannot be read is an error. */
static int load_if_there(struct cli_config *c, const char *path, struct err *err)
{
	if (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	return conf_load(path, keys, NULL, c, err);
}

/* $XDG_CONFIG_HOME/reeve.conf, else ~/.config/reeve.conf. A relative path there is ignored, as the XDG specification says. */
static int load_user_file(struct cli_config *c, struct err *err)
{
	const char *dir = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	_cleanup_free_ char *path = NULL;

	if (dir && *dir == '/') {
		if (asprintf(&path, "%s/reeve.conf", dir) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	} else if (home && *home == '/') {
		if (asprintf(&path, "%s/.config/reeve.conf", home) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return path ? load_if_there(c, path, err) : 0;
}

static int set_controller(struct cli_config *c, const char *typed, struct err *err)
{
	const char *env = getenv("REEVE_CONTROLLER");
	const char *url = typed ? typed : env && *env ? env : NULL;

	if (url) {
		free(c->controller);
		c->controller = strdup(url);
		return c->controller ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	if (c->controller)
		return 0;
	return err_set(
		err, -EINVAL,
		"no address of a controller; set Controller= in [Client] of " CLI_CONFIG_SITE
		", or REEVE_CONTROLLER, or give --controller http://HOST:8640");
}

/* Only this user can read the credentials that munge makes for the controller. A default user
 * that this machine lacks is no error: then anyone can. */
static int find_reader(struct cli_config *c, struct err *err)
{
	const char *name = c->controller_user ? c->controller_user : CLI_CONFIG_CONTROLLER;
	uint32_t gid;
	int r = auth_user_lookup(name, &c->controller_uid, &gid, err);

	c->has_controller_uid = r >= 0;
	if (r == -ENOENT && !c->controller_user)
		return 0;
	return r < 0 ? err_prefix(err, -EINVAL, "ControllerUser=%s", name) : 0;
}

int cli_config_load(struct cli_config *c, const char *file, const char *controller,
		    struct err *err)
{
	int r;

	c->timeout_s = 30;
	if (file) {
		r = conf_load(file, keys, NULL, c, err);
	} else {
		r = load_if_there(c, CLI_CONFIG_SITE, err);
		if (r == 0)
			r = load_user_file(c, err);
	}
	if (r == 0)
		r = find_reader(c, err);
	return r < 0 ? r : set_controller(c, controller, err);
}

void cli_config_done(struct cli_config *c)
{
	conf_done(keys, NULL, c);
}
