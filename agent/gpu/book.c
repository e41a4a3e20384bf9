/* SPDX-License-Identifier: GPL-2.0-or-later */
/* book.c - keeps the devices and processes that the GPU sources found; see book.h. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "agent/gpu/book.h"
#include "common/utf8.h"

void book_done(struct book *b)
{
	free(b->devices);
	free(b->table);
	*b = (struct book){ 0 };
}

void book_note(struct book *b, const char *fmt, ...)
{
	char text[BOOK_NOTE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	utf8_clean(text);
	for (int i = 0; i < b->n_notes; i++)
		if (!strcmp(b->notes[i], text))
			return;
	if (b->n_notes == BOOK_NOTES_MAX)
		return;
	memcpy(b->notes[b->n_notes], text, sizeof(text));
	b->note_list[b->n_notes] = b->notes[b->n_notes];
	b->note_list[++b->n_notes] = NULL;
}

int book_add(struct book *b, const struct gpu_device *d)
{
	struct book_device *more;

	if (b->n_devices == GPU_DEVICES_MAX)
		return -ENOSPC;
	more = reallocarray(b->devices, (size_t)b->n_devices + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	b->devices = more;
	b->devices[b->n_devices] = (struct book_device){ .d = *d };
	utf8_clean(b->devices[b->n_devices].d.uuid);
	utf8_clean(b->devices[b->n_devices].d.product);
	return b->n_devices++;
}

void book_add_file(struct gpu_device *d, const char *root, const char *name)
{
	struct gpu_file *f = &d->files[d->n_files];
	char path[512];
	struct stat st;
	int n;

	if (d->n_files == GPU_FILES_MAX)
		return;
	n = snprintf(f->path, sizeof(f->path), "/dev/%s", name);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	if (n < 0 || (size_t)n >= sizeof(f->path) || stat(path, &st) < 0 ||
	    !S_ISCHR(st.st_mode))
		return;
	f->major = major(st.st_rdev);
	f->minor = minor(st.st_rdev);
	d->n_files++;
}

/* ---- processes ---- */

static unsigned slot_of(const struct book *b, int device, pid_t pid)
{
	uint32_t h = (uint32_t)pid * 2654435761u ^ (uint32_t)device * 40503u;

	h ^= h >> 15;
	return h & (b->n_slots - 1);
}

static struct book_process *find_slot(struct book *b, int device, pid_t pid)
{
	for (unsigned i = slot_of(b, device, pid);; i = (i + 1) & (b->n_slots - 1)) {
		struct book_process *s = &b->table[i];

		if (!s->is_used || (s->p.pid == pid && s->p.device == device))
			return s;
	}
}

static int resize_table(struct book *b, unsigned n_slots)
{
	struct book_process *old = b->table;
	unsigned n_old = b->n_slots;
	struct book_process *table = calloc(n_slots, sizeof(*table));

	if (!table)
		return -ENOMEM;
	b->table = table;
	b->n_slots = n_slots;
	for (unsigned i = 0; i < n_old; i++)
		if (old[i].is_used)
			*find_slot(b, old[i].p.device, old[i].p.pid) = old[i];
	free(old);
	return 0;
}

struct book_process *book_known(struct book *b, int device, pid_t pid)
{
	struct book_process *s = b->n_slots ? find_slot(b, device, pid) : NULL;

	return s && s->is_used ? s : NULL;
}

struct book_process *book_process(struct book *b, int device, pid_t pid)
{
	struct book_process *s;

	if (b->n_used * 2 >= b->n_slots &&
	    resize_table(b, b->n_slots ? b->n_slots * 2 : 64) < 0)
		return NULL;
	s = find_slot(b, device, pid);
	if (!s->is_used) {
		*s = (struct book_process){
			.p = { .device = device, .pid = pid },
			.is_used = true,
			.is_new = true,
			.since_ns = b->devices[device].total.busy_ns,
		};
		b->n_used++;
	}
	s->is_seen = true;
	return s;
}

struct book_process *book_next(struct book *b, unsigned *i)
{
	while (*i < b->n_slots) {
		struct book_process *s = &b->table[(*i)++];

		if (s->is_used)
			return s;
	}
	return NULL;
}

void book_set_mem(struct book_process *p, int64_t bytes)
{
	p->p.have |= GPU_HAVE_MEM;
	p->p.mem_bytes = bytes;
	if (bytes > p->p.mem_peak_bytes)
		p->p.mem_peak_bytes = bytes;
}

void book_begin(struct book *b, int64_t now_ns)
{
	struct book_process *s;

	b->last_ns = b->round ? b->now_ns : now_ns;
	b->now_ns = now_ns;
	b->round++;
	for (unsigned i = 0; (s = book_next(b, &i));)
		s->is_seen = s->is_new = false;
	for (int i = 0; i < b->n_devices; i++)
		b->devices[i].is_asked = false;
}

/* Empties a slot of the hash table (linear probing, no tombstones): entries behind it in its chain
 * move up, so that all are found as before. */
static void remove_slot(struct book *b, unsigned hole)
{
	unsigned mask = b->n_slots - 1;

	b->table[hole].is_used = false;
	b->n_used--;
	for (unsigned i = (hole + 1) & mask; b->table[i].is_used; i = (i + 1) & mask) {
		unsigned home = slot_of(b, b->table[i].p.device, b->table[i].p.pid);

		/* it may move only to where its chain, from home on, comes by */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		b->table[hole] = b->table[i];
		b->table[i].is_used = false;
		hole = i;
	}
}

/* A process ends with the second round in which it is not seen: one list may have missed it. */
void book_end(struct book *b, gpu_process_fn each, void *ctx)
{
	struct book_process *s;

	for (unsigned i = 0; (s = book_next(b, &i));) {
		if (!s->is_seen && !b->devices[s->p.device].is_asked)
			continue;
		if (!s->is_seen) {
			s->p.has_ended = s->is_missing;
			s->p.mem_bytes = 0;
		}
		s->is_missing = !s->is_seen;
		if (each)
			each(ctx, &s->p);
	}
	for (unsigned i = 0; i < b->n_slots; i++)
		while (b->table[i].is_used && b->table[i].p.has_ended)
			remove_slot(b, i);
}
