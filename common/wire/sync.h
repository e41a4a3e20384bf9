/* sync - names and keys that both sides of POST /v1/node/sync use (docs/protocol.md). */
#pragma once
#include <jansson.h>
#include <stdint.h>

struct err;

/* The numbers are stored: streams of the ledger. */
enum sync_stream { SYNC_OUT, SYNC_ERR, _SYNC_STREAM_MAX };
const char *sync_stream_name(enum sync_stream s); /* "out" "err" */
/* -EINVAL names the word. */
int sync_stream_parse(const char *name, enum sync_stream *ret, struct err *err);

/* The keys "job" and "attempt" of an element. -EINVAL names the key. */
int sync_get_attempt(const json_t *j, int64_t *ret_job, int32_t *ret_attempt, struct err *err);
