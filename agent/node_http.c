/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_http.c - how this node connects to its controller; see node.h. */
#include "agent/node.h"
#include "common/auth/auth.h"
#include "common/err.h"

int node_http_config(const struct agent_config *conf, struct http_config *ret, uint32_t *uid,
		     struct err *err)
{
	uint32_t gid;
	int r = auth_user_lookup(conf->controller_user, uid, &gid, err);

	*ret = (struct http_config){ .url = conf->controller,
				     .munge_socket = conf->munge_socket,
				     .timeout_s = 30,
				     .answer_uid = *uid,
				     .reader = uid,
				     .ca_file = conf->ca_file,
				     .client_certificate = conf->client_certificate,
				     .client_key = conf->client_key };
	return r < 0 ? err_prefix(err, r, "ControllerUser=%s", conf->controller_user) : 0;
}
