/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_response - any bytes as a controller's answer: no crash, a body within its bound, a refusal has words, and pieces of any size
 * give what the whole gives.
 *
 * links: common/http/response common/http/buffer
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/http/response.h"

#define BODY_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_pieces(struct response *r, const char *data, size_t size, size_t piece)
{
	int result = 0;

	for (size_t at = 0; at < size && result == 0; at += piece)
		result = response_feed(r, data + at, size - at < piece ? size - at : piece);
	if (result == 0)
		result = response_end(r);
	if (r->body->size > BODY_MAX ||
	    (result < 0 && result != -12 && result != -90 && !r->fault))
		abort();
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct response whole, part;
	struct http_buffer bodies[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
	const char *text = (const char *)data + 1;
	int r;

	if (!size)
		return 0;
	whole = (struct response){ .body = &bodies[0], .body_max = BODY_MAX };
	part = (struct response){ .body = &bodies[1], .body_max = BODY_MAX };
	r = read_pieces(&whole, text, size - 1, size);
	if (read_pieces(&part, text, size - 1, 1U + data[0]) != r ||
	    whole.status != part.status || strcmp(whole.credential, part.credential) != 0)
		abort();
	if (r == 1 &&
	    (bodies[0].size != bodies[1].size ||
	     (bodies[0].size && memcmp(bodies[0].data, bodies[1].data, bodies[0].size))))
		abort();
	free(bodies[0].data);
	free(bodies[1].data);
	return 0;
}
