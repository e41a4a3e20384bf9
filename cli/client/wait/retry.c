/* SPDX-License-Identifier: GPL-2.0-or-later */
/* retry.c - repeats a request every half second until the controller answers; see retry.h. */
#include <errno.h>
#include "cli/client/wait/retry.h"
#include "common/err.h"

#define AGAIN_US (500 * 1000)

int retry_wait(struct cli *c, struct err *err)
{
	return cli_pause(c, AGAIN_US, err);
}

int retry_request(struct cli *c, struct http_call call, const bool *stop, json_t **ret_answer,
		  struct err *err)
{
	while (!*stop) {
		int r = cli_ask(c, call, ret_answer, err);

		if (r != -EHOSTUNREACH)
			return r;
		r = retry_wait(c, err);
		if (r < 0)
			return r;
	}
	return RETRY_STOPPED;
}
