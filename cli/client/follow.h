/* SPDX-License-Identifier: GPL-2.0-or-later */
/* follow - requests new output by long polls until the controller reports the end. While the
 * controller cannot be reached it retries: the job runs meanwhile.
 */
#pragma once
#include "cli/cli.h"

#define FOLLOW_WAIT_S 25L /* length of a long poll; the path has it as wait= */
#define FOLLOW_PATH_MAX 256
#define FOLLOW_BYTES_MAX ((size_t)64 << 20) /* of one piece of output */

struct follow;

struct follow_config {
	const char *verb; /* for messages */
	void *ctx;
	/* Writes the path of the next request. */
	void (*path)(void *ctx, char buf[static FOLLOW_PATH_MAX]);
	/* Processes an answer. 0: it had no output; > 0: some; < 0: stop following.
	 * *ret_end: no more output will come. */
	int (*take)(void *ctx, const json_t *answer, bool *ret_end, struct err *err);
	/* Called once: result 0 at the end, < 0 as in cli.h. Not from follow_open(). */
	void (*done)(void *ctx, int result, const struct err *err);
};

/* Opens a connection of its own. */
int follow_open(const struct cli *c, const struct follow_config *config, struct follow **ret,
		struct err *err);
struct follow *follow_close(struct follow *f);
DEFINE_CLEANUP(struct follow *, follow_close)
int follow_start(struct follow *f, struct err *err);
/* Decodes a piece of output (base64). *ret is malloc()ed. -EPROTO: it is not base64, or too
 * long. */
int follow_decode(const json_t *data, uint8_t **ret, size_t *ret_size, struct err *err);
