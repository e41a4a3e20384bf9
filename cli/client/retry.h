/* retry - repeats a request while the controller cannot be reached. */
#pragma once
#include "cli/cli.h"

#define RETRY_STOPPED 1 /* *stop was set: there is no answer */

/* As cli_ask() of something that may be asked twice, but -EHOSTUNREACH is waited out. *stop may
 * be set by a signal's handler in the meantime. */
int retry_request(struct cli *c, struct http_call call, const bool *stop, json_t **ret_answer,
		  struct err *err);
/* A while, in which the event loop runs; 0 also when *stop. */
int retry_wait(struct cli *c, struct err *err);
