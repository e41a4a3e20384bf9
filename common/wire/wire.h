/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire - the model as JSON (jansson), both ways, strict.
 *
 * Every document carries "schema": WIRE_SCHEMA. Decoders refuse a wrong type, an unknown enum
 * word, a number out of range and a missing key with the path of the key ("reports[3].seq");
 * unknown keys are ignored, so that agent and controller can be upgraded one after the other.
 * Amounts are JSON integers in the unit that the key names (_bytes _ns _s). Absent usage
 * figures are absent keys. Strings are UTF-8; what is not is refused by the decoder of the
 * side that reads it, so environment values that are not UTF-8 are refused at submission. Text
 * about a job is never refused: wire_string() mends it.
 */
#pragma once
#include <jansson.h>
#include "common/cleanup.h"
#include "common/model/job.h"

/* The header of an answer that has a `next`: its value, so that a client requests the next page before it has read this one. */
#define WIRE_NEXT_HEADER "X-Reeve-Next"
#define WIRE_SCHEMA "reeve/1"

/* Attempts that a node may have, and list in one sync. Both sides: what a list leaves out the
 * controller takes for lost. */
#define WIRE_SYNC_JOBS_MAX 100000

static inline json_t *wire_unref(json_t *j)
{
	json_decref(j);
	return NULL;
}
DEFINE_CLEANUP(json_t *, wire_unref)
#define _cleanup_json_ _cleanup_(wire_unrefp)

/* Parse a body: strict (duplicate keys, overflow, NaN refused), must be an object with the
 * right "schema". -EINVAL with line and column. */
int wire_parse(const char *text, size_t size, json_t **ret, struct err *err);
/* What a document may hold. A tree needs up to 140 bytes of memory for each element and 240 for
 * each object or array besides, whatever is in them, so text of two bytes an element is a
 * hundredfold in memory: what others send is counted before it is parsed. */
struct wire_bounds {
	size_t elements;   /* values and keys, at the most */
	size_t containers; /* objects and arrays */
	size_t depth;	   /* of them within each other */
};
/* 0, or -EMSGSIZE: more than `max`. Any bytes: what is not JSON is wire_parse()'s to refuse,
 * which has made no more than this counted when it comes to the fault. */
int wire_scan(const char *text, size_t size, const struct wire_bounds *max, struct err *err);
/* Compact text, caller frees; NULL only when memory ran out. */
char *wire_format(const json_t *j);

/* Bytes beside a document, for which JSON would need a third more room and much time: on the wire they follow the text after a NUL, in
 * memory they are the document's member WIRE_ATTACHED, which text never has. */
#define WIRE_ATTACHED "attached"
/* Copies the bytes into the document. -ENOMEM. */
int wire_attach(json_t *doc, const void *data, size_t size);
/* Borrowed from the document; NULL: it has none. */
const void *wire_attached(const json_t *doc, size_t *ret_size);
/* wire_format() with the attached bytes, in *ret_size bytes; wire_parse() of both. */
char *wire_format_whole(const json_t *j, size_t *ret_size);
int wire_parse_whole(const char *text, size_t size, json_t **ret, struct err *err);
/* {"schema": WIRE_SCHEMA} to fill. */
json_t *wire_new(void);

/* A JSON string of any bytes: `text` itself where it is UTF-8, else as utf8_mend() has it. NULL
 * only when memory ran out. */
json_t *wire_string(const char *text);

/* Encoders return a new reference or NULL when memory ran out. */
json_t *wire_encode_resources(const struct resources *r);
json_t *wire_encode_request(const struct request *r);
json_t *wire_encode_usage(const struct usage *u);
/* wire_format() of that, without making the tree. */
char *wire_format_usage(const struct usage *u);
json_t *wire_encode_gpus(const struct gpu_use *list, int32_t n);
json_t *wire_encode_end(const struct job_end *e);
json_t *wire_encode_report(const struct report *r);

/* Decoders: 0 or -EINVAL / -ENOMEM. `at` is the path so far, for messages ("request"). The
 * request must be request_init()ed; the caller owns what it holds, also after an error. */
int wire_decode_resources(const json_t *j, const char *at, struct resources *ret,
			  struct err *err);
int wire_decode_request(const json_t *j, const char *at, struct request *ret, struct err *err);
int wire_decode_usage(const json_t *j, const char *at, struct usage *ret, struct err *err);
/* Of a text as wire_format_usage() has it. -EINVAL: it has another form, and may be read all the same by the general way. */
int wire_parse_usage(const char *text, struct usage *ret);
/* At most GPU_USE_MAX, each uuid once. *ret is malloc()ed; NULL when there are none. */
int wire_decode_gpus(const json_t *j, const char *at, struct gpu_use **ret, int32_t *ret_n,
		     struct err *err);
int wire_decode_end(const json_t *j, const char *at, struct job_end *ret, struct err *err);
/* *ret needs report_done() after 0. */
int wire_decode_report(const json_t *j, const char *at, struct report *ret, struct err *err);

/* Typed reads of one key, for the documents that rooms make themselves. `def` NULL: the key
 * must be there; else *def is used when it is absent. Integers are bounded to [min, max]. */
struct wire_int {
	int64_t min, max;
	const int64_t *def;
};
int wire_get_int(const json_t *j, const char *key, struct wire_int range, int64_t *ret,
		 struct err *err);
/* Copies at most size-1 bytes; longer text is -EINVAL. Absent: "" when `optional`. */
struct wire_text {
	char *buf;
	size_t size;
	bool optional;
};
int wire_get_text(const json_t *j, const char *key, struct wire_text to, struct err *err);
