/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Authentication codes: the examples of RFC 4231; every change of key, label, text or code is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <nettle/sha2.h>
#include "common/cleanup.h"
#include "common/seal/seal.h"

static void parse_hex(const char *text, uint8_t *ret)
{
	unsigned byte;

	for (size_t i = 0; sscanf(text + 2 * i, "%2x", &byte) == 1; i++)
		ret[i] = (uint8_t)byte;
}

/* A key as HMAC takes it: a shorter one has zeros behind it, one longer than a block is hashed. */
static void fill_key(const char *key, size_t size, uint8_t ret[static SEAL_KEY_SIZE])
{
	struct sha256_ctx sha;

	memset(ret, 0, SEAL_KEY_SIZE);
	if (size <= SEAL_KEY_SIZE) {
		memcpy(ret, key, size);
		return;
	}
	sha256_init(&sha);
	sha256_update(&sha, size, (const uint8_t *)key);
	sha256_digest(&sha, SEAL_KEY_SIZE, ret);
}

/* Case 5 is of a shortened code, which is not made here. */
static void codes_are_those_of_rfc_4231(void **unused)
{
	char ones[131], fifty[50], counted[25];
	const struct {
		const char *key;
		size_t key_size;
		const char *text;
		size_t size;
		const char *mac;
	} cases[] = {
		{ "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b",
		  20, "Hi There", 8,
		  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
		{ "Jefe", 4, "what do ya want for nothing?", 28,
		  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
		{ ones, 20, NULL, 0xdd,
		  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
		{ counted, 25, NULL, 0xcd,
		  "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
		{ ones, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
		  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
		{ ones, 131,
		  "This is a test using a larger than block-size key and a larger than "
		  "block-size data. The key needs to be hashed before being used by the HMAC "
		  "algorithm.",
		  152, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" },
	};

	(void)unused;
	memset(ones, 0xaa, sizeof(ones));
	for (size_t i = 0; i < sizeof(counted); i++)
		counted[i] = (char)(i + 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint8_t key[SEAL_KEY_SIZE], mac[SEAL_MAC_SIZE], right[SEAL_MAC_SIZE];
		struct iovec piece = { (void *)cases[i].text, cases[i].size };

		if (!cases[i].text) { /* fifty bytes of that value */
			memset(fifty, (int)cases[i].size, sizeof(fifty));
			piece = (struct iovec){ fifty, sizeof(fifty) };
		}
		fill_key(cases[i].key, cases[i].key_size, key);
		parse_hex(cases[i].mac, right);
		seal_make(key, &(struct seal_text){ NULL, &piece, 1 }, mac);
		assert_memory_equal(mac, right, SEAL_MAC_SIZE);
		assert_true(seal_is_good(key, &(struct seal_text){ NULL, &piece, 1 }, right));
	}
}

static void a_text_has_one_code_however_it_is_cut(void **unused)
{
	const uint8_t key[SEAL_KEY_SIZE] = { 1, 2, 3 };
	char text[] = "echo hello\n";
	const struct iovec whole = { text, 11 };
	const struct iovec cut[] = { { text, 4 }, { NULL, 0 }, { text + 4, 7 } };
	uint8_t one[SEAL_MAC_SIZE];

	(void)unused;
	seal_make(key, &(struct seal_text){ "input", &whole, 1 }, one);
	assert_true(seal_is_good(key, &(struct seal_text){ "input", cut, 3 }, one));
}

static void every_change_is_noticed(void **unused)
{
	uint8_t key[SEAL_KEY_SIZE] = { 1, 2, 3 }, mac[SEAL_MAC_SIZE];
	char text[] = "echo hello\n";
	const struct iovec piece = { text, 11 }, less = { text, 10 };
	const struct seal_text t = { "input", &piece, 1 };

	(void)unused;
	seal_make(key, &t, mac);
	for (size_t bit = 0; bit < 8 * SEAL_MAC_SIZE; bit++) {
		mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(seal_is_good(key, &t, mac));
		mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * SEAL_KEY_SIZE; bit++) {
		key[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(seal_is_good(key, &t, mac));
		key[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * 11; bit++) {
		text[bit / 8] ^= (char)(1 << bit % 8);
		assert_false(seal_is_good(key, &t, mac));
		text[bit / 8] ^= (char)(1 << bit % 8);
	}
	assert_false(seal_is_good(key, &(struct seal_text){ "input", &less, 1 }, mac));
	assert_false(seal_is_good(key, &(struct seal_text){ "output", &piece, 1 }, mac));
	assert_false(seal_is_good(key, &(struct seal_text){ NULL, &piece, 1 }, mac));
	assert_false(seal_is_good(key, &(struct seal_text){ "inpu", &piece, 1 }, mac));
	assert_true(seal_is_good(key, &t, mac));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_are_those_of_rfc_4231),
		cmocka_unit_test(a_text_has_one_code_however_it_is_cut),
		cmocka_unit_test(every_change_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
