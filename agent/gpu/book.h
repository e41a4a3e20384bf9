/* SPDX-License-Identifier: GPL-2.0-or-later */
/* book.h - where the sources of GPU figures enter what they read: devices, their totals,
 * processes, notes. The same for every vendor; gpu.h gives it to the rest of the agent.
 *
 * A round is one sample of all devices. A process that no source named in a round has ended,
 * unless its device could not be read: then its values stay.
 */
#pragma once
#include "agent/gpu/gpu.h"

#define BOOK_NOTES_MAX 32
#define BOOK_NOTE_MAX 256

struct book_process {
	struct gpu_process p;
	bool is_used;	  /* this slot of the table */
	bool is_seen;	  /* in this round */
	bool is_new;	  /* seen for the first time in this round */
	bool is_missing;  /* was not seen in the round before */
	int64_t since_ns; /* the device's own busy time when it came */
	uint64_t last_us; /* newest sample of it that was counted */
};

struct book_device {
	struct gpu_device d;
	struct gpu_total total;
	const char *source[3]; /* by figure: busy, mem, energy; NULL: none */
	bool is_asked;	       /* in this round */
};

struct book {
	struct book_device *devices;
	int n_devices;
	struct book_process *table; /* open addressing */
	unsigned n_slots, n_used;
	int64_t round; /* from 1 */
	int64_t now_ns, last_ns;
	char notes[BOOK_NOTES_MAX][BOOK_NOTE_MAX];
	const char *note_list[BOOK_NOTES_MAX + 1];
	int n_notes;
};

void book_done(struct book *b);

/* A sentence for the notes; the same one only once. */
void book_note(struct book *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The new device's index; -ENOSPC after GPU_DEVICES_MAX, -ENOMEM. */
int book_add(struct book *b, const struct gpu_device *d);

/* The file, if it is there, becomes one that only the holder of the device may open. */
void book_add_file(struct gpu_device *d, const char *root, const char *name);

void book_begin(struct book *b, int64_t now_ns);
/* A process of this device: its slot, seen now. NULL: no memory. Pointers hold until the next
 * call. */
struct book_process *book_process(struct book *b, int device, pid_t pid);
struct book_process *book_known(struct book *b, int device, pid_t pid); /* NULL: not known */
/* Calls `each` for every process that was seen, and a last time for those that ended. */
void book_end(struct book *b, gpu_process_fn each, void *ctx);
/* Slots from *i on; NULL after the last. */
struct book_process *book_next(struct book *b, unsigned *i);

void book_set_mem(struct book_process *p, int64_t bytes);
