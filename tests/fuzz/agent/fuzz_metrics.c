/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_metrics - any bytes as a request for the agent's metrics, whole or in two pieces: it is complete or not, the
 * answer's status is one of six, and the headers that are found lie in the request. And any bytes as MetricsListen=.
 *
 * links: agent/metrics/request agent/metrics/address common/err
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/metrics/address.h"
#include "agent/metrics/request.h"
#include "common/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_header(const char *value, const char *text, size_t size)
{
	if (value && (value < text || value + strlen(value) >= text + size))
		abort();
}

/* In memory of exactly this size, so that a byte read behind it is found. */
static bool check_request(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct metrics_request r;
	bool is_complete;

	memcpy(text, data, size);
	is_complete = metrics_request_parse(text, size, &r);
	if (is_complete && r.status != 200 && r.status != 400 && r.status != 404 &&
	    r.status != 405 && r.status != 431)
		abort();
	if (is_complete && !metrics_request_reason(r.status)[0])
		abort();
	if (is_complete) {
		check_header(r.accept, text, size);
		check_header(r.authorization, text, size);
	}
	free(text);
	return is_complete;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metrics_address address;
	struct err err = { "" };
	char *listen;

	if (size > METRICS_REQUEST_MAX)
		size = METRICS_REQUEST_MAX;
	if (check_request(data, size / 2) && !check_request(data, size))
		abort();
	check_request(data, size);
	listen = strndup((const char *)data, size);
	if (metrics_address_parse(listen, &address, &err) < 0 && !err.text[0])
		abort();
	free(listen);
	return 0;
}
