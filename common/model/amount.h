/* SPDX-License-Identifier: GPL-2.0-or-later */
/* amount - sizes, counts and durations as people type them, and back.
 *
 * Pure. The only parser of these texts: command line, job scripts, configuration and wire
 * all come here. Nothing is guessed: an amount that is not exact in the base unit is refused.
 *
 * Sizes (base unit: byte), case does not matter:
 *   B · KB MB GB TB PB = powers of 1000 · KiB MiB GiB TiB PiB = powers of 1024
 *   K M G T P = powers of 1024, as batch users mean them · no unit = bytes
 *   A fraction is allowed where the result is whole: 1.5GB, 0.5GiB.
 * Durations (base unit: second):
 *   SS · MM:SS · HH:MM:SS · D-HH:MM:SS · or units 1d2h30m15s · no unit = seconds
 *   MM and SS below a larger unit must be under 60.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

/* What a site means by K KB M MB G GB T TB P PB. KiB ... PiB are always powers of 1024. */
enum amount_units {
	AMOUNT_AS_WRITTEN, /* as above: KB of 1000, K of 1024 */
	AMOUNT_BINARY,	   /* all of them powers of 1024, as Slurm has it */
	AMOUNT_DECIMAL,	   /* all of them powers of 1000 */
	_AMOUNT_UNITS_MAX,
};
extern const char *const amount_units_words[]; /* "as-written" "binary" "decimal"; then NULL */

/* 0, or -EINVAL with the text, what is wrong with it and an example. All results are
 * >= 0 and at most INT64_MAX; "-1", "", "1e9", "4GBs" are refused. */
int amount_parse_count(const char *text, int64_t *ret, struct err *err);
int amount_parse_bytes(const char *text, int64_t *ret_bytes, struct err *err);
int amount_parse_bytes_in(const char *text, enum amount_units units, int64_t *ret_bytes,
			  struct err *err);
int amount_parse_seconds(const char *text, int64_t *ret_s, struct err *err);

#define AMOUNT_TEXT_MAX 48

/* For people, rounded to three digits with the binary unit: "1.25 GiB", "512 B". */
const char *amount_format_bytes(int64_t bytes, char buf[static AMOUNT_TEXT_MAX]);
/* The same, in powers of 1000 ("1.25 GB") where `like` is a round decimal amount and no binary
 * one: amounts shown beside each other should be in the family that the user typed. */
const char *amount_format_bytes_like(int64_t bytes, int64_t like,
				     char buf[static AMOUNT_TEXT_MAX]);
/* Exact, and parseable by amount_parse_bytes(): "2GB", "1536MiB", "17B". */
const char *amount_format_bytes_exact(int64_t bytes, char buf[static AMOUNT_TEXT_MAX]);
/* "0:10:00", "100:00:00", exact and parseable. */
const char *amount_format_seconds(int64_t s, char buf[static AMOUNT_TEXT_MAX]);
/* UTC, "2026-11-21 10:12:03 UTC". `realtime_ns` since the epoch; pure calendar maths. */
const char *amount_format_utc(int64_t realtime_ns, char buf[static AMOUNT_TEXT_MAX]);
