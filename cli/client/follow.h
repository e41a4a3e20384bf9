/* follow - requests new output by long polls until the controller reports the end. While the
 * controller is away it retries: the job runs meanwhile.
 */
#pragma once
#include "cli/cli.h"

#define FOLLOW_WAIT_S 25L /* to be named in the path, as wait= */
#define FOLLOW_PATH_MAX 256
#define FOLLOW_BYTES_MAX ((size_t)64 << 20) /* of one piece of output */

struct follow;

struct follow_config {
	const char *verb; /* who follows, for messages */
	void *ctx;
	/* What to ask now. */
	void (*path)(void *ctx, char buf[static FOLLOW_PATH_MAX]);
	/* What an answer brings; > 0: something. *ret_end: nothing more will come. */
	int (*take)(void *ctx, const json_t *answer, bool *ret_end, struct err *err);
	/* Called once: result 0 at the end, < 0 as in cli.h. Not from follow_open(). */
	void (*done)(void *ctx, int result, const struct err *err);
};

/* A connection of its own. */
int follow_open(const struct cli *c, const struct follow_config *config, struct follow **ret,
		struct err *err);
struct follow *follow_close(struct follow *f);
DEFINE_CLEANUP(struct follow *, follow_close)
int follow_start(struct follow *f, struct err *err);
/* A piece of output in an answer, as bytes. *ret is malloc()ed. -EPROTO: not base64. */
int follow_decode(const json_t *data, uint8_t **ret, size_t *ret_size, struct err *err);
