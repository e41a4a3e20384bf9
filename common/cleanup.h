/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cleanup.h - scope-bound ownership. The one place that spells attributes. */
#pragma once
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)

/* Give up ownership: the scope's cleanup then sees NULL / -1. */
#define TAKE_PTR(p)                                                                            \
	({                                                                                     \
		__typeof__(p) _taken = (p);                                                    \
		(p) = NULL;                                                                    \
		_taken;                                                                        \
	})
#define TAKE_FD(fd)                                                                            \
	({                                                                                     \
		int _taken = (fd);                                                             \
		(fd) = -1;                                                                     \
		_taken;                                                                        \
	})

/* For a destructor `T foo_free(T)`, make foo_freep usable with _cleanup_(). */
#define DEFINE_CLEANUP(type, fn)                                                               \
	static inline void fn##p(type *p)                                                      \
	{                                                                                      \
		if (*p)                                                                        \
			fn(*p);                                                                \
	}

#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}
