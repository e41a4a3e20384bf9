/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alloc_fault.c - memory that fails on demand, for a daemon as it is installed.
 *
 * As a shared object in LD_PRELOAD: one allocation (malloc, calloc, realloc and all that call them) of the program $ALLOC_FAULT_PROGRAM fails as the
 * words in the file $ALLOC_FAULT say; those of the processes that it starts do not. As a program (-DCONTROL) it sets the words:
 *	alloc_fault N		the N-th allocation from now of the process that runs, or else of the next that starts, fails; 0: none, they are counted
 *	alloc_fault off		none fails
 *	alloc_fault count	prints the number of allocations since the words were set
 *	alloc_fault places	prints the first number at each place, that is each chain of callers, of those that were counted (with N = 0)
 *	alloc_fault failed	exits 0 if one was made to fail
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACES_MAX (1 << 18)

struct words {
	int is_on, pid; /* 0: of none yet */
	uint32_t at;	/* which fails; 0: none */
	uint32_t count, failed;
	uint64_t place[PLACES_MAX]; /* of each that was counted */
};

static struct words *map_words(void)
{
	const char *path = getenv("ALLOC_FAULT");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *p;

	if (fd < 0 || ftruncate(fd, sizeof(struct words)) < 0)
		return NULL;
	p = mmap(NULL, sizeof(struct words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

#ifdef CONTROL
static void print_places(const struct words *w)
{
	uint32_t n = w->count < PLACES_MAX ? w->count : PLACES_MAX;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = 0;

		while (j < i && w->place[j] != w->place[i])
			j++;
		if (j == i)
			printf("%u\n", i + 1);
	}
}

int main(int argc, char **argv)
{
	struct words *w = map_words();

	if (!w || argc != 2)
		return 2;
	if (!strcmp(argv[1], "failed"))
		return !w->failed;
	if (!strcmp(argv[1], "count")) {
		printf("%u\n", w->count);
		return 0;
	}
	if (!strcmp(argv[1], "places")) {
		print_places(w);
		return 0;
	}
	w->is_on = 0;
	w->count = w->failed = 0;
	if (w->pid && kill(w->pid, 0) < 0)
		w->pid = 0;
	w->at = (uint32_t)atoi(argv[1]);
	w->is_on = strcmp(argv[1], "off") != 0;
	return 0;
}
#else
#include <execinfo.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static struct words *words;
static __thread int is_inside;

/* A crash says where: addr2line has the lines. */
static void tell_crash(int sig)
{
	void *caller[32];

	is_inside = 1;
	backtrace_symbols_fd(caller, backtrace(caller, 32), STDERR_FILENO);
	signal(sig, SIG_DFL);
	raise(sig);
}

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("ALLOC_FAULT_PROGRAM");
	void *caller;

	if (!name || strcmp(name, program_invocation_short_name) != 0)
		return;
	is_inside = 1;
	backtrace(&caller, 1); /* what it allocates itself, once */
	words = map_words();
	if (words)
		words->pid = getpid();
	signal(SIGSEGV, tell_crash);
	signal(SIGABRT, tell_crash);
	is_inside = 0;
}

static uint64_t place_of_call(void)
{
	void *caller[16];
	uint64_t hash = 14695981039346656037u;
	int n;

	is_inside = 1;
	n = backtrace(caller, 16);
	is_inside = 0;
	for (int i = 3; i < n; i++)
		hash = (hash ^ (uint64_t)(uintptr_t)caller[i]) * 1099511628211u;
	return hash;
}

/* Threads of libraries allocate too: which number is whose may then differ from run to run. */
static int is_next(void)
{
	uint32_t n;

	if (!words || is_inside || !words->is_on || words->pid != getpid())
		return 0;
	n = __atomic_add_fetch(&words->count, 1, __ATOMIC_RELAXED);
	if (!words->at && n <= PLACES_MAX)
		words->place[n - 1] = place_of_call();
	if (n != words->at)
		return 0;
	words->failed = 1;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return is_next() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return is_next() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return is_next() ? NULL : __libc_realloc(p, size);
}
#endif
