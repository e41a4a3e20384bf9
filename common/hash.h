/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hash.h - FNV-1a with 64 bits (Fowler, Noll, Vo): for hash tables, and for digests that tell whether something has changed.
 * Those who choose the keys can make them collide: a table of keys that strangers choose begins with a random number.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define HASH_BEGIN 14695981039346656037ULL
#define HASH_PRIME 1099511628211ULL

static inline uint64_t hash_number(uint64_t hash, uint64_t number)
{
	return (hash ^ number) * HASH_PRIME;
}

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = hash_number(hash, ((const uint8_t *)bytes)[i]);
	return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_number(hash, (uint8_t)*text);
	return hash;
}

/* For a table whose size is a power of two: its low bits depend on all of them. */
static inline uint64_t hash_fold(uint64_t hash)
{
	return hash ^ hash >> 32;
}
