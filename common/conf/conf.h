/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conf - configuration files: systemd-style INI over a typed table of keys.
 *
 * FILE, then FILE.d/NAME.conf in name order. `[Section]` or `[Section NAME]` (repeated
 * named sections), `Key = value`, `#` and `;` comments at line start, a trailing backslash
 * continues the line. Lines may be of any length up to CONF_LINE_MAX; longer is an error, as
 * is an unknown section or key (with the nearest known one), a value out of range, a key
 * given twice in one file, NUL or CR. Every message names file, line, key, value and remedy.
 */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define CONF_LINE_MAX 65536
/* Exit status of a daemon whose configuration has a mistake (sysexits(3): EX_CONFIG): systemd does not start it again
 * (RestartPreventExitStatus= in its unit). */
#define CONF_EXIT_MISTAKE 78

enum conf_type {
	CONF_TEXT,	/* char *, strdup()ed over the former one; freed by conf_done() */
	CONF_NAME,	/* char[REQUEST_NAME_MAX], checked by request_is_name() */
	CONF_BOOL,	/* bool: yes/no/true/false/on/off/1/0 */
	CONF_COUNT,	/* int64_t */
	CONF_BYTES,	/* int64_t, amount_parse_bytes() */
	CONF_SECONDS,	/* int64_t, amount_parse_seconds() */
	CONF_RESOURCES, /* struct resources, resources_parse() */
	CONF_ENUM,	/* int: index into `words` */
};

/* When a changed value of a key counts, in a daemon that reads its configuration again (SIGHUP). */
enum conf_reload {
	CONF_RESTART, /* at the next start: it decides what is opened, or what runs was made by it */
	CONF_LIVE, /* at once: it is read wherever it is needed, or the daemon applies it */
};

/* Is this failure to load a configuration one that only its owner can mend? Else it may pass: memory, descriptors, a disk that fails. */
static inline bool conf_is_mistake(int r)
{
	return r < 0 && r != -ENOMEM && r != -EIO && r != -EMFILE && r != -ENFILE;
}

struct conf_key {
	const char *section, *key;
	enum conf_type type;
	size_t offset;		  /* into the struct given to conf_load() or add() */
	int64_t min, max;	  /* COUNT, BYTES, SECONDS; both 0: only >= 0 */
	const char *const *words; /* ENUM: NULL-terminated */
	const char *help, *example;
	enum conf_reload reload;
};

struct conf_section {
	const char *name; /* a `[name X]` section that may occur many times */
	/* Called at its head; returns in *ret_object the struct that its keys' offsets are
	 * into. -EINVAL: a bad or repeated X. */
	int (*add)(void *target, const char *x, void **ret_object, struct err *err);
};

/* Where a statement stands. */
struct conf_place {
	const char *file;
	int line;
	const struct conf_key *key; /* NULL: the head of a named section */
	void *object;		    /* what its section's keys are set in */
	const char *value;	    /* as typed; of a head, the name */
};

struct conf_fault {
	const char *file;
	int line;	  /* 0: of no line */
	const char *text; /* "FILE, line N: what is wrong, and how to mend it" */
};

/* How to read. `keys` and `sections` end with an empty entry; `target` holds the defaults. */
struct conf_reader {
	const struct conf_key *keys;
	const struct conf_section *sections;
	void *target;
	/* Called for each statement after its value is set: may record its place, and check what a
	 * type cannot. < 0 with a message: refused; file and line are put before it. NULL: none. */
	int (*taken)(void *target, const struct conf_place *place, struct err *err);
	/* Called for each fault; reading continues after it, so that all are found. NULL: the
	 * first fault ends the reading and is the error. */
	void (*fault)(void *ctx, const struct conf_fault *fault);
	void *ctx;
};

/* FILE and FILE.d. A missing FILE is -ENOENT, -EACCES... with words; a missing FILE.d is fine.
 */
int conf_read(const char *path, const struct conf_reader *how, struct err *err);
/* From memory, for tests and fuzzing; `name` stands for the file in messages. */
int conf_read_text(const char *text, size_t size, const char *name,
		   const struct conf_reader *how, struct err *err);
/* The same, where the first fault is the error. */
int conf_load(const char *path, const struct conf_key *keys,
	      const struct conf_section *sections, void *target, struct err *err);
int conf_parse(const char *text, size_t size, const char *name, const struct conf_key *keys,
	       const struct conf_section *sections, void *target, struct err *err);
/* What a CONF_TEXT that is NULL, or a CONF_ENUM below 0, is called. */
#define CONF_NOT_SET "not set"
/* The value of a key, which is at `at`, as a file would state it; CONF_NOT_SET. Returns buf. */
const char *conf_format_value(const struct conf_key *k, const void *at, char *buf, size_t size);
/* Frees the CONF_TEXT values of the keys that belong to `section`. NULL: of all keys, which is
 * right only for a table without named sections; else call it once a section and object. */
void conf_done(const struct conf_key *keys, const char *section, void *object);
