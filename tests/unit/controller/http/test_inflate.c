/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_inflate - whatever the input, never more than the bound, and only whole gzip members. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>
#include "controller/http/inflate.h"

#define MAX 100000

/* `size` bytes of 'x' as gzip. */
static size_t pack_zip(size_t size, unsigned char *out, size_t room)
{
	z_stream z = { .avail_out = (unsigned)room, .next_out = out };
	char *in = malloc(size + 1);

	memset(in, 'x', size);
	z.next_in = (unsigned char *)in;
	z.avail_in = (unsigned)size;
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	free(in);
	return z.total_out;
}

static void the_bound_is_exact(void **state)
{
	static const size_t sizes[] = { 0,	 1,   16383,   16384,  16385,
					MAX - 1, MAX, MAX + 1, 5 * MAX };
	unsigned char gz[8192];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct inflate_text t = { 0 };
		size_t n = pack_zip(sizes[i], gz, sizeof(gz));
		int r = inflate_body(gz, n, MAX, &t, NULL);

		if (sizes[i] > MAX) {
			assert_int_equal(r, -EMSGSIZE);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(t.size, sizes[i]);
		for (size_t k = 0; k < t.size; k++)
			assert_int_equal(t.data[k], 'x');
		free(t.data);
	}
}

static void damage_anywhere_is_noticed(void **state)
{
	unsigned char gz[8192], copy[8192];
	size_t n = pack_zip(5000, gz, sizeof(gz));
	struct inflate_text t = { 0 };

	(void)state;
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(inflate_body(gz, cut, MAX, &t, NULL), -EINVAL);
	memcpy(copy, gz, n);
	copy[n] = 0;
	assert_int_equal(inflate_body(copy, n + 1, MAX, &t, NULL), -EINVAL);
	/* The trailer: checksum and length. */
	for (size_t i = n - 8; i < n; i++) {
		memcpy(copy, gz, n);
		copy[i] ^= 1;
		assert_int_equal(inflate_body(copy, n, MAX, &t, NULL), -EINVAL);
	}
	assert_int_equal(inflate_body("no gzip at all", 14, MAX, &t, NULL), -EINVAL);
}

/* Beyond 1 MiB not more than a hundred times what was sent. */
static void a_body_that_inflates_too_far_is_refused(void **state)
{
	unsigned char gz[8192];
	struct inflate_text t = { 0 };
	size_t n = pack_zip(1 << 20, gz, sizeof(gz));

	(void)state;
	assert_true(n * 100 < 1 << 20);
	assert_int_equal(inflate_body(gz, n, 8 << 20, &t, NULL), 0);
	assert_int_equal(t.size, 1 << 20);
	free(t.data);
	n = pack_zip((1 << 20) + 1, gz, sizeof(gz));
	assert_int_equal(inflate_body(gz, n, 8 << 20, &t, NULL), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bound_is_exact),
		cmocka_unit_test(a_body_that_inflates_too_far_is_refused),
		cmocka_unit_test(damage_anywhere_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
