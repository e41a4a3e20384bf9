/* retry.c - repeats a request every half second until the controller answers; see retry.h. */
#include <errno.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "cli/client/retry.h"
#include "common/err.h"

#define AGAIN_US (500 * 1000)

int retry_wait(struct cli *c, struct err *err)
{
	int r = sd_event_run(c->event, AGAIN_US);

	return r < 0 ? err_set(err, r, "cannot run the event loop: %s", strerror(-r)) : 0;
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
