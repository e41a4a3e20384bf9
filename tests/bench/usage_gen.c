/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_gen JOBS [USERS ACCOUNTS] - a year of one cluster as an SWF file on stdout, always the
 * same: users of very different zeal, jobs of 1 to 128 cores from a minute to two days. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define YEAR_S (365 * 86400LL)

static uint64_t state = 0x9e3779b97f4a7c15ULL;

static uint64_t draw_bits(void) /* xorshift64 */
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

/* Few users submit most jobs: of two draws, the smaller. */
static int64_t draw_user(int64_t n)
{
	int64_t a = (int64_t)(draw_bits() % (uint64_t)n),
		b = (int64_t)(draw_bits() % (uint64_t)n);

	return a < b ? a : b;
}

int main(int argc, char **argv)
{
	static char buf[1 << 16];
	int64_t jobs = argc > 1 ? atoll(argv[1]) : 0, users = argc > 2 ? atoll(argv[2]) : 5000;
	int64_t accounts = argc > 3 ? atoll(argv[3]) : 800;

	if (jobs < 1 || users < 1 || accounts < 1) {
		fprintf(stderr, "usage: usage_gen JOBS [USERS ACCOUNTS]\n");
		return 2;
	}
	setvbuf(stdout, buf, _IOFBF, sizeof(buf));
	printf("; UnixStartTime: 1735689600\n");
	for (int64_t i = 0; i < jobs; i++) {
		int64_t user = draw_user(users),
			submit = (int64_t)((double)i / (double)jobs * (double)YEAR_S);
		int64_t run = 60 + (int64_t)(draw_bits() % 3600) * (draw_bits() % 16 ? 1 : 48);
		int cores = 1 << draw_bits() % 8;

		printf("%" PRId64 " %" PRId64 " %d %" PRId64 " %d %" PRId64 " -1 %d %" PRId64
		       " -1 1 %" PRId64 " %" PRId64 " -1 -1 -1 -1 -1\n",
		       i + 1, submit, (int)(draw_bits() % 7200), run, cores, run * 9 / 10,
		       cores, run * 2, user, user % accounts);
	}
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
