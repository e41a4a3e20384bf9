/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mpi_ring.c - an MPI program to watch: `mpi_ring ROUNDS [RANK MIB]`.
 *
 * Each rank says where it runs. A token goes round the ring of all ranks ROUNDS times and
 * collects their numbers; rank 0 checks the sum. Each rank computes a little in every round and
 * writes how many rounds it has seen to $TMPDIR/rank.NUMBER, for who looks on from outside. In
 * the fifth round rank RANK maps MIB MiB.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct ring {
	int rank, n;
	FILE *count;
	long rounds, greedy_rank;
	size_t greedy_bytes;
};

static void say_where(const struct ring *r)
{
	char host[MPI_MAX_PROCESSOR_NAME] = "", cores[256] = "";
	cpu_set_t set;
	int len;

	MPI_Get_processor_name(host, &len);
	sched_getaffinity(0, sizeof(set), &set);
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &set) && strlen(cores) < sizeof(cores) - 8)
			snprintf(cores + strlen(cores), 8, " %d", c);
	printf("rank %d of %d on %s, cores%s\n", r->rank, r->n, host, cores);
	fflush(stdout);
}

static FILE *open_count(int rank)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/rank.%d", dir ? dir : "/tmp", rank);
	return fopen(path, "w");
}

static void burn_cpu(double seconds)
{
	double end = MPI_Wtime() + seconds;
	volatile unsigned x = 1;

	while (MPI_Wtime() < end)
		for (int i = 0; i < 10000; i++)
			x = x * 1664525 + 1013904223;
}

/* The token's sum when it is back; of other ranks: 0. */
static long pass_token(const struct ring *r)
{
	int next = (r->rank + 1) % r->n, before = (r->rank + r->n - 1) % r->n;
	long token = 0;

	if (r->rank == 0) {
		MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
		MPI_Recv(&token, 1, MPI_LONG, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return token;
	}
	MPI_Recv(&token, 1, MPI_LONG, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	token += r->rank;
	MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
	return 0;
}

static void map_too_much(const struct ring *r)
{
	void *p = mmap(NULL, r->greedy_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("rank %d: %s\n", r->rank, p == MAP_FAILED ? "could not grow" : "survived");
	fflush(stdout);
}

static int run_rounds(const struct ring *r)
{
	for (long i = 1; i <= r->rounds; i++) {
		long sum = pass_token(r), whole = (long)r->n * (r->n - 1) / 2;

		if (r->rank == 0 && sum != whole) {
			printf("round %ld: the sum is %ld, not %ld\n", i, sum, whole);
			return 1;
		}
		rewind(r->count);
		fprintf(r->count, "%ld\n", i);
		fflush(r->count);
		if (i == 5 && r->greedy_bytes && r->rank == r->greedy_rank)
			map_too_much(r);
		burn_cpu(0.1);
	}
	printf("rank %d: %ld rounds\n", r->rank, r->rounds);
	return 0;
}

int main(int argc, char **argv)
{
	struct ring r = { .rounds = argc > 1 ? atol(argv[1]) : 10 };
	int status;

	if (argc > 3) {
		r.greedy_rank = atol(argv[2]);
		r.greedy_bytes = (size_t)atol(argv[3]) << 20;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &r.n);
	r.count = open_count(r.rank);
	if (!r.count) {
		perror("mpi_ring: $TMPDIR/rank");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	say_where(&r);
	status = run_rounds(&r);
	if (status)
		MPI_Abort(MPI_COMM_WORLD, status);
	fclose(r.count);
	MPI_Finalize();
	return 0;
}
