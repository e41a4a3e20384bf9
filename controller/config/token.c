/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token.c - checks the token by which a monitoring system gets figures by account; see config.h.
 */
#include <errno.h>
#include "common/err.h"
#include "common/token.h"
#include "controller/config/config_impl.h"

int config_check_token(void *object, const char *value, struct err *err)
{
	char token[TOKEN_MAX];

	(void)object;
	if (*value != '/')
		return err_set(err, -EINVAL, "it is not an absolute path");
	return token_read(value, token, err);
}
