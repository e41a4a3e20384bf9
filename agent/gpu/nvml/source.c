/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.c - finds the NVIDIA devices and MIG instances, and finds them again after a loss. See
 * nvml/source.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include "agent/admit/cpulist.h"
#include "agent/gpu/nvml/source_impl.h"
#include "agent/gpu/pci.h"
#include "common/err.h"
#include "common/time_units.h"

#define RETRY_NS (5 * S_NS)
#define RETRY_MOST_NS (300 * S_NS)
#define NVIDIA_MAJOR 195

/* ---- one device ---- */

/* "00000000:3B:00.0" -> "0000:3b:00.0" */
static void set_bus_id(struct gpu_device *d, const struct nvml_pci *pci)
{
	const char *from = pci->bus_id;

	if (strlen(from) == 16 && !strncmp(from, "0000", 4))
		from += 4;
	snprintf(d->bus_id, sizeof(d->bus_id), "%.15s", from);
	for (char *p = d->bus_id; *p; p++)
		*p = (char)tolower((unsigned char)*p);
}

static void add_card_file(struct nvml_source *s, struct gpu_device *d, unsigned minor)
{
	char name[32];
	int before = d->n_files;

	snprintf(name, sizeof(name), "nvidia%u", minor);
	book_add_file(d, s->o.dev, name);
	if (d->n_files == before) { /* made when it is first used */
		struct gpu_file *f = &d->files[d->n_files++];

		snprintf(f->path, sizeof(f->path), "/dev/%s", name);
		f->major = NVIDIA_MAJOR;
		f->minor = minor;
	}
	pci_add_drm_files(d, s->o.sys, s->o.dev);
}

/* The capability file of an instance: its minor is in /proc/driver/nvidia/capabilities. */
static void add_capability(struct nvml_source *s, struct gpu_device *d, const char *what)
{
	char path[512], line[128], name[64];
	_cleanup_fclose_ FILE *f = NULL;
	unsigned minor;

	snprintf(path, sizeof(path), "%s/driver/nvidia/capabilities/%s/access", s->o.proc,
		 what);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "DeviceFileMinor: %u", &minor) == 1) {
			snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%u", minor);
			book_add_file(d, s->o.dev, name);
			return;
		}
	book_note(s->b, "%s: the device file of %s is not told; it cannot be held", d->uuid,
		  what);
}

static int describe_device(struct nvml_source *s, nvml_dev h, struct gpu_device *d)
{
	struct nvml_mem mem = { 0 };
	struct nvml_pci pci = { 0 };
	enum nvml_rc rc = nvml_uuid(s->n, h, d->uuid);

	if (rc != NVML_OK || !d->uuid[0] || nvml_name(s->n, h, d->product) != NVML_OK)
		return -EIO;
	if (nvml_mem(s->n, h, &mem) == NVML_OK && mem.total <= INT64_MAX)
		d->mem_bytes = (int64_t)mem.total;
	if (nvml_pci(s->n, h, &pci) == NVML_OK)
		set_bus_id(d, &pci);
	d->vendor = GPU_NVIDIA;
	d->is_simulated = nvml_is_double(s->n) || !strncmp(d->product, "Simulated ", 10);
	d->parent = -1;
	d->numa_node = pci_numa_node(s->o.sys, d->bus_id);
	return 0;
}

static int keep_device(struct nvml_source *s, nvml_dev h, const struct gpu_device *d)
{
	struct nvml_gpu *more = reallocarray(s->gpus, (size_t)s->n_gpus + 1, sizeof(*more));
	int at;

	if (!more)
		return -ENOMEM;
	s->gpus = more;
	at = book_add(s->b, d);
	if (at < 0) {
		book_note(s->b, "more than %d GPUs: %s is left out", GPU_DEVICES_MAX, d->uuid);
		return at;
	}
	s->gpus[s->n_gpus++] =
		(struct nvml_gpu){ .handle = h, .device = at, .is_instance = d->parent >= 0 };
	return at;
}

/* ---- first opening ---- */

static int add_instance(struct nvml_source *s, nvml_dev h, int parent, unsigned card)
{
	struct gpu_device d = { 0 };
	const struct gpu_device *p = &s->b->devices[parent].d;
	unsigned gi = NVML_UNSET_ID, ci = NVML_UNSET_ID;
	char what[64];
	size_t n;

	if (describe_device(s, h, &d) < 0)
		return -EIO;
	d.parent = parent;
	d.index = p->index;
	d.numa_node = p->numa_node;
	memcpy(d.bus_id, p->bus_id, sizeof(d.bus_id));
	n = strlen(d.product);
	if (!strstr(d.product, " MIG ")) /* releases that name the whole GPU */
		snprintf(d.product + n, sizeof(d.product) - n, " MIG %lldgb",
			 (long long)(d.mem_bytes + (1 << 29)) >> 30);
	gpu_model_of(d.product, d.mem_bytes, d.model);
	for (int i = 0; i < p->n_files; i++) /* every instance needs its card's */
		d.files[d.n_files++] = p->files[i];
	if (nvml_mig_ids(s->n, h, &gi, &ci) == NVML_OK) {
		snprintf(what, sizeof(what), "gpu%u/mig/gi%u", card, gi);
		add_capability(s, &d, what);
		snprintf(what, sizeof(what), "gpu%u/mig/gi%u/ci%u", card, gi, ci);
		add_capability(s, &d, what);
	}
	return keep_device(s, h, &d);
}

static void start_accounting(struct nvml_source *s, struct nvml_gpu *g)
{
	bool switched;
	enum nvml_rc rc = nvml_acct_on(s->n, g->handle, &switched);

	g->has_acct = rc == NVML_OK;
	g->accounting = rc != NVML_OK ? (int)rc : switched ? ACCOUNTING_SWITCHED : 0;
	if (g->has_acct)
		nvml_source_account_start(s, g);
}

static void note_finding(struct nvml_source *s, int finding, const struct cpulist *cards)
{
	char list[CPULIST_TEXT_MAX];

	cpulist_format(cards, list, sizeof(list));
	if (finding == ACCOUNTING_SWITCHED)
		book_note(s->b, "GPU %s: accounting mode was switched on", list);
	else if (finding == ACCOUNTING_PARTITIONED)
		book_note(
			s->b,
			"GPU %s is partitioned: NVML tells neither busy time nor energy of MIG "
			"instances, nor processes that live shorter than a sample",
			list);
	else
		book_note(s->b,
			  "GPU %s: no accounting mode (%s): processes that live shorter than a "
			  "sample are not seen, peaks of memory are of the samples",
			  list, nvml_rc_text(finding));
}

/* One note for all cards that are alike: a node can have sixteen. */
static void note_accounting(struct nvml_source *s)
{
	for (int i = 0; i < s->n_gpus; i++) {
		int finding = s->gpus[i].accounting, first = 0;
		struct cpulist cards = { 0 };

		while (s->gpus[first].accounting != finding)
			first++;
		if (!finding || first < i)
			continue;
		for (int k = i; k < s->n_gpus; k++)
			if (s->gpus[k].accounting == finding)
				cpulist_add(&cards, s->b->devices[s->gpus[k].device].d.index);
		note_finding(s, finding, &cards);
	}
}

static int add_card(struct nvml_source *s, unsigned i)
{
	struct gpu_device d = { 0 };
	unsigned minor = i, max;
	nvml_dev h, mig;
	int at, card;

	if (nvml_by_index(s->n, i, &h) != NVML_OK || describe_device(s, h, &d) < 0)
		return -EIO;
	d.index = (int)i;
	d.is_partitioned = nvml_is_mig(s->n, h);
	gpu_model_of(d.product, d.mem_bytes, d.model);
	if (nvml_minor(s->n, h, &minor) == NVML_OK)
		add_card_file(s, &d, minor);
	else
		book_note(s->b, "GPU %u: its device file is not told; it cannot be held", i);
	at = keep_device(s, h, &d);
	if (at < 0 || !d.is_partitioned) {
		if (at >= 0)
			start_accounting(s, &s->gpus[s->n_gpus - 1]);
		return at < 0 ? at : 0;
	}
	s->gpus[s->n_gpus - 1].accounting = ACCOUNTING_PARTITIONED;
	card = at;
	max = nvml_mig_max(s->n, h);
	for (unsigned m = 0; m < max && at != -ENOMEM; m++)
		if (nvml_mig_by_index(s->n, h, m, &mig) == NVML_OK)
			at = add_instance(s, mig, card, minor);
	return at == -ENOMEM ? at : 0;
}

static int find_all(struct nvml_source *s)
{
	unsigned count = 0;
	int r = 0;
	enum nvml_rc rc = nvml_count(s->n, &count);

	if (rc != NVML_OK)
		book_note(s->b, "NVML: number of GPUs: %s", nvml_rc_text((int)rc));
	for (unsigned i = 0; rc == NVML_OK && i < count && i < GPU_DEVICES_MAX; i++) {
		r = add_card(s, i);
		if (r == -ENOMEM)
			return r;
		if (r == -EIO)
			book_note(s->b, "NVML: GPU %u does not answer: it is left out", i);
	}
	note_accounting(s);
	if (nvml_missing(s->n)[0])
		book_note(s->b, "driver %s does not tell: %s", nvml_version(s->n),
			  nvml_missing(s->n));
	return 0;
}

int nvml_source_open(const struct gpu_options *o, struct book *b, struct nvml_source **ret,
		     struct err *err)
{
	struct nvml_source *s = calloc(1, sizeof(*s));
	struct err why = { "" };
	int cards, r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->b = b;
	s->o = *o;
	s->backoff_ns = RETRY_NS;
	r = nvml_load(o->nvml, &s->n, &why);
	if (r == 0)
		r = find_all(s);
	if (r == -ENOMEM) {
		nvml_source_close(s);
		return err_set(err, r, "out of memory");
	}
	cards = pci_count(o->sys, PCI_NVIDIA);
	if (!s->n && cards)
		book_note(b, "%d NVIDIA GPU%s on the bus, but not to be used: %.160s", cards,
			  cards == 1 ? "" : "s", why.text);
	*ret = s;
	return 0;
}

struct nvml_source *nvml_source_close(struct nvml_source *s)
{
	if (!s)
		return NULL;
	nvml_unload(s->n);
	for (int i = 0; i < s->n_gpus; i++)
		free(s->gpus[i].settled);
	free(s->gpus);
	free(s);
	return NULL;
}

/* ---- finding lost devices again ---- */

static void on_found_device(struct nvml_source *s, nvml_dev h)
{
	char uuid[NVML_UUID_SIZE];
	struct book_device *bd;

	if (nvml_uuid(s->n, h, uuid) != NVML_OK)
		return;
	for (int i = 0; i < s->n_gpus; i++) {
		struct nvml_gpu *g = &s->gpus[i];

		bd = &s->b->devices[g->device];
		if (strcmp(bd->d.uuid, uuid) != 0)
			continue;
		g->handle = h;
		if (bd->total.is_lost)
			book_note(s->b, "GPU %d (%s) is back", bd->d.index, uuid);
		bd->total.is_lost = false;
		return;
	}
	book_note(s->b, "%s came after the start: restart the agent to offer it", uuid);
}

static void find_again(struct nvml_source *s)
{
	unsigned count = 0;
	nvml_dev h, mig;

	for (int i = 0; i < s->n_gpus; i++)
		s->gpus[i].handle = NULL;
	if (nvml_count(s->n, &count) != NVML_OK)
		return;
	for (unsigned i = 0; i < count && i < GPU_DEVICES_MAX; i++) {
		unsigned max;

		if (nvml_by_index(s->n, i, &h) != NVML_OK)
			continue;
		on_found_device(s, h);
		max = nvml_is_mig(s->n, h) ? nvml_mig_max(s->n, h) : 0;
		for (unsigned m = 0; m < max; m++)
			if (nvml_mig_by_index(s->n, h, m, &mig) == NVML_OK)
				on_found_device(s, mig);
	}
}

void nvml_source_reopen(struct nvml_source *s)
{
	int64_t now = s->b->now_ns;

	if (!s->n_gpus || (s->n && !s->is_lost))
		return;
	if (!s->retry_ns)
		s->retry_ns = now + s->backoff_ns;
	if (now < s->retry_ns)
		return;
	s->backoff_ns = s->backoff_ns * 2 < RETRY_MOST_NS ? s->backoff_ns * 2 : RETRY_MOST_NS;
	s->retry_ns = now + s->backoff_ns;
	nvml_unload(s->n);
	s->n = NULL;
	s->is_lost = true;
	if (nvml_load(s->o.nvml, &s->n, NULL) < 0)
		return;
	find_again(s);
	s->is_lost = false;
	for (int i = 0; i < s->n_gpus; i++)
		if (!s->gpus[i].handle)
			nvml_source_lose(s, &s->gpus[i], "not found again");
	if (!s->is_lost) {
		s->retry_ns = 0;
		s->backoff_ns = RETRY_NS;
	}
}
