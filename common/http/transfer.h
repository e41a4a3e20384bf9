/* SPDX-License-Identifier: GPL-2.0-or-later */
/* transfer.h - one exchange by libcurl: its options, its callbacks, its errors in words. Private to common/http. */
#pragma once
#include "common/http/curl.h"

struct http;

struct http_transfer {
	CURL *easy;
	struct curl_slist *headers;
	char why[CURL_ERROR_SIZE];
	bool is_too_large;
	int64_t waits_from_ns; /* CLOCK_MONOTONIC; 0: the user is not told that it takes long */
};

#define CONNECT_TIMEOUT_S 10L
#define CONNECT_TIMEOUT_OF_SEVERAL_S 3L

/* Loads libcurl and makes h->transfer, where that is not done yet. -ENOENT: there is no libcurl. */
int transfer_open(struct http *h, struct err *err);
void transfer_close(struct http *h);
/* After http_prepare(): the same call as options of libcurl. -ENOMEM. */
int transfer_set(struct http *h, struct err *err);
/* After it: what http_finish() is given. */
int transfer_result(struct http *h, CURLcode code, struct err *err);
/* The whole call, waiting. */
int transfer_exchange(struct http *h, struct err *err);
