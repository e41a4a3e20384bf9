/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nvml.c - loads libnvidia-ml and calls it, in all its releases; see nvml.h. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include "agent/gpu/nvml/nvml.h"
#include "common/cleanup.h"
#include "common/err.h"

#define GROWTHS_MAX 8  /* a list that grows while it is asked for */
#define UNTOUCHED 0xa5 /* fills a buffer before the driver writes to it */

struct nvml {
	void *library;
	bool is_up, is_double;
	char version[80], missing[256];
#define FIELD(name, symbol, args) unsigned(*name) args;
	NVML_FUNCTIONS(FIELD)
#undef FIELD
	/* kept between calls; sizes in entries */
	unsigned char *raw;
	unsigned raw_size, n_merged, merged_size, util_size, sample_size, busy_size, pids_size;
	struct nvml_proc *merged;
	struct nvml_utilization *util;
	struct nvml_sample *ring; /* of the driver's samples */
	struct nvml_busy *busy;
	unsigned *pids;
};

const char *nvml_rc_text(int rc)
{
	static const struct {
		int rc;
		const char *text;
	} texts[] = {
		{ NVML_OK, "done" },
		{ NVML_UNINITIALIZED, "not initialised" },
		{ NVML_INVALID_ARGUMENT, "invalid argument" },
		{ NVML_NOT_SUPPORTED, "not supported" },
		{ NVML_NO_PERMISSION, "no permission" },
		{ NVML_NOT_FOUND, "not found" },
		{ NVML_INSUFFICIENT_SIZE, "insufficient size" },
		{ NVML_DRIVER_NOT_LOADED, "driver not loaded" },
		{ NVML_TIMEOUT, "timed out" },
		{ NVML_FUNCTION_NOT_FOUND, "no such function in this release" },
		{ NVML_GPU_IS_LOST, "GPU is lost" },
		{ NVML_RESET_REQUIRED, "GPU needs a reset" },
		{ NVML_VERSION_MISMATCH, "library and driver are of different releases" },
		{ NVML_NO_DATA, "no data" },
		{ NVML_ARGUMENT_VERSION, "struct of another version" },
		{ NVML_GPU_NOT_FOUND, "no such GPU" },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].rc == rc)
			return texts[i].text;
	return "unknown error";
}

static void load_symbols(struct nvml *n)
{
#define LOAD(name, symbol, args) *(void **)&n->name = dlsym(n->library, symbol);
	NVML_FUNCTIONS(LOAD)
#undef LOAD
	n->is_double = dlsym(n->library, "reeve_nvml_double") != NULL;
}

/* Lists the figures for which the release has no function in any form. */
static void list_missing(struct nvml *n)
{
	const struct {
		bool is_there;
		const char *what;
	} wants[] = {
		{ n->pci_v3 || n->pci_v2, "PCI address" },
		{ n->compute_v3 || n->compute_v2 || n->compute_v1, "processes" },
		{ n->utilization, "busy time of processes" },
		{ n->samples, "busy time of GPUs" },
		{ n->energy, "energy" },
		{ n->acct_pids && n->acct_stats, "accounting mode" },
		{ n->mig_mode && n->mig_by_index, "MIG instances" },
	};
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_LEN(wants); i++)
		if (!wants[i].is_there && at < sizeof(n->missing))
			at += (size_t)snprintf(n->missing + at, sizeof(n->missing) - at, "%s%s",
					       at ? ", " : "", wants[i].what);
}

static int call_init(struct nvml *n, const char *library, struct err *err)
{
	unsigned rc;

	if (!n->init || !n->shutdown || !n->count || !n->by_index || !n->name || !n->uuid ||
	    (!n->memory && !n->memory_v2))
		return err_set(err, -ENOSYS,
			       "%s lacks functions that every release since 331 "
			       "has",
			       library);
	rc = n->init();
	if (rc != NVML_OK)
		return err_set(err,
			       rc == NVML_DRIVER_NOT_LOADED || rc == NVML_VERSION_MISMATCH
				       ? -ENODEV
				       : -EIO,
			       "%s: %s", library, nvml_rc_text((int)rc));
	n->is_up = true;
	if (!n->driver_version || n->driver_version(n->version, sizeof(n->version)) != NVML_OK)
		n->version[0] = '\0';
	n->version[sizeof(n->version) - 1] = '\0';
	list_missing(n);
	return 0;
}

DEFINE_CLEANUP(struct nvml *, nvml_unload)

int nvml_load(const char *library, struct nvml **ret, struct err *err)
{
	_cleanup_(nvml_unloadp) struct nvml *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return err_set(err, -ENOMEM, "out of memory");
	n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		return err_set(err, -ENOENT, "%s", dlerror());
	load_symbols(n);
	r = call_init(n, library, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(n);
	return 0;
}

struct nvml *nvml_unload(struct nvml *n)
{
	if (!n)
		return NULL;
	if (n->is_up)
		n->shutdown();
	if (n->library)
		dlclose(n->library);
	free(n->raw);
	free(n->merged);
	free(n->util);
	free(n->ring);
	free(n->busy);
	free(n->pids);
	free(n);
	return NULL;
}

const char *nvml_version(const struct nvml *n)
{
	return n->version;
}

bool nvml_is_double(const struct nvml *n)
{
	return n->is_double;
}

const char *nvml_missing(const struct nvml *n)
{
	return n->missing;
}

/* Calls the function if the release has it. */
#define CALL(fn, ...) ((n->fn) ? (enum nvml_rc)n->fn(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

enum nvml_rc nvml_count(struct nvml *n, unsigned *ret)
{
	return CALL(count, ret);
}

enum nvml_rc nvml_by_index(struct nvml *n, unsigned i, nvml_dev *ret)
{
	return CALL(by_index, i, ret);
}

enum nvml_rc nvml_name(struct nvml *n, nvml_dev d, char ret[static NVML_NAME_SIZE])
{
	enum nvml_rc rc = CALL(name, d, ret, NVML_NAME_SIZE);

	ret[rc == NVML_OK ? NVML_NAME_SIZE - 1 : 0] = '\0';
	return rc;
}

enum nvml_rc nvml_uuid(struct nvml *n, nvml_dev d, char ret[static NVML_UUID_SIZE])
{
	enum nvml_rc rc = CALL(uuid, d, ret, NVML_UUID_SIZE);

	ret[rc == NVML_OK ? NVML_UUID_SIZE - 1 : 0] = '\0';
	return rc;
}

enum nvml_rc nvml_pci(struct nvml *n, nvml_dev d, struct nvml_pci *ret)
{
	enum nvml_rc rc = CALL(pci_v3, d, ret);

	if (rc == NVML_FUNCTION_NOT_FOUND) { /* _v2 ends before the longer bus_id */
		rc = CALL(pci_v2, d, ret);
		memset(ret->bus_id, 0, sizeof(ret->bus_id));
		memcpy(ret->bus_id, ret->bus_id_legacy, sizeof(ret->bus_id_legacy));
	}
	ret->bus_id[sizeof(ret->bus_id) - 1] = '\0';
	return rc;
}

enum nvml_rc nvml_minor(struct nvml *n, nvml_dev d, unsigned *ret)
{
	return CALL(minor, d, ret);
}

enum nvml_rc nvml_energy(struct nvml *n, nvml_dev d, unsigned long long *ret_mj)
{
	return CALL(energy, d, ret_mj);
}

enum nvml_rc nvml_mem(struct nvml *n, nvml_dev d, struct nvml_mem *ret)
{
	struct nvml_memory_v2 v2 = { .version = NVML_MEMORY_V2 };
	struct nvml_memory v1;
	enum nvml_rc rc = CALL(memory_v2, d, &v2);

	if (rc == NVML_OK) {
		*ret = (struct nvml_mem){ v2.total, v2.used, true };
		return rc;
	}
	if (rc != NVML_FUNCTION_NOT_FOUND && rc != NVML_NOT_SUPPORTED &&
	    rc != NVML_ARGUMENT_VERSION)
		return rc;
	rc = CALL(memory, d, &v1);
	if (rc == NVML_OK)
		*ret = (struct nvml_mem){ v1.total, v1.used, false };
	return rc;
}

bool nvml_is_mig(struct nvml *n, nvml_dev d)
{
	unsigned now = 0, pending = 0;

	return n->mig_by_index && CALL(mig_mode, d, &now, &pending) == NVML_OK && now == 1;
}

unsigned nvml_mig_max(struct nvml *n, nvml_dev d)
{
	unsigned max = 0;

	return CALL(mig_max, d, &max) == NVML_OK ? max : 0;
}

enum nvml_rc nvml_mig_by_index(struct nvml *n, nvml_dev d, unsigned i, nvml_dev *ret)
{
	return CALL(mig_by_index, d, i, ret);
}

enum nvml_rc nvml_mig_ids(struct nvml *n, nvml_dev mig, unsigned *ret_gi, unsigned *ret_ci)
{
	enum nvml_rc rc = CALL(mig_gi, mig, ret_gi);

	return rc == NVML_OK ? CALL(mig_ci, mig, ret_ci) : rc;
}

/* ---- lists ---- */

static int grow_list(void *array, unsigned *size, unsigned want, size_t each)
{
	void *more;

	if (want <= *size)
		return 0;
	if (want > 1u << 20)
		return -E2BIG;
	more = reallocarray(*(void **)array, want, each);
	if (!more)
		return -ENOMEM;
	*(void **)array = more;
	*size = want;
	return 0;
}

typedef unsigned (*list_fn)(nvml_dev d, unsigned *count, void *infos);

/* Entries are 24 bytes from _v2 on, 16 before; some releases write other sizes through the same
 * symbol. The buffer was filled with UNTOUCHED: how much of it was overwritten shows the size. */
static size_t entry_size(const unsigned char *raw, unsigned count, size_t declared)
{
	static const size_t sizes[] = { sizeof(struct nvml_process_v1),
					sizeof(struct nvml_process) };

	if (declared == sizeof(struct nvml_process_v1))
		return declared;
	for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
		const unsigned char *p = raw + count * sizes[s];
		const unsigned char *end = raw + (size_t)count * NVML_PROCESS_LARGEST;

		while (p < end && *p == UNTOUCHED)
			p++;
		if (p == end)
			return sizes[s];
	}
	return NVML_PROCESS_LARGEST;
}

static int merge_process(struct nvml *n, const unsigned char *entry)
{
	struct nvml_process_v1 p; /* the head that all forms share */
	struct nvml_proc *to = NULL;

	memcpy(&p, entry, sizeof(p));
	for (unsigned i = 0; i < n->n_merged && !to; i++)
		if (n->merged[i].pid == p.pid)
			to = &n->merged[i];
	if (!to) {
		if (n->n_merged == n->merged_size &&
		    grow_list(&n->merged, &n->merged_size, n->merged_size * 2 + 16,
			      sizeof(*to)) < 0)
			return -ENOMEM;
		to = &n->merged[n->n_merged++];
		*to = (struct nvml_proc){ .pid = p.pid };
	}
	if (p.used != NVML_NOT_AVAILABLE && (!to->has_used || p.used > to->used)) {
		to->has_used = true;
		to->used = p.used;
	}
	return 0;
}

static enum nvml_rc list_processes(struct nvml *n, nvml_dev d, list_fn fn, size_t declared)
{
	enum nvml_rc rc = NVML_INSUFFICIENT_SIZE;
	unsigned count = 0, want = n->raw_size ? n->raw_size : 64;
	size_t each;

	for (int i = 0; i < GROWTHS_MAX && rc == NVML_INSUFFICIENT_SIZE; i++) {
		if (grow_list(&n->raw, &n->raw_size, want, NVML_PROCESS_LARGEST) < 0)
			return NVML_INSUFFICIENT_SIZE;
		memset(n->raw, UNTOUCHED, (size_t)n->raw_size * NVML_PROCESS_LARGEST);
		count = n->raw_size;
		rc = (enum nvml_rc)fn(d, &count, n->raw);
		want = count + count / 4 + 8;
	}
	if (rc != NVML_OK)
		return rc;
	if (count > n->raw_size)
		return NVML_UNKNOWN;
	each = entry_size(n->raw, count, declared);
	for (unsigned i = 0; i < count; i++)
		if (merge_process(n, n->raw + i * each) < 0)
			return NVML_INSUFFICIENT_SIZE;
	return NVML_OK;
}

enum nvml_rc nvml_processes(struct nvml *n, nvml_dev d, const struct nvml_proc **ret,
			    unsigned *ret_count)
{
	const struct {
		list_fn v3, v2, v1;
	} kinds[] = { { n->compute_v3, n->compute_v2, n->compute_v1 },
		      { n->graphics_v3, n->graphics_v2, n->graphics_v1 },
		      { n->mps_v3, n->mps_v2, NULL } };
	enum nvml_rc rc, first = NVML_OK;

	n->n_merged = 0;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		list_fn fn = kinds[i].v3   ? kinds[i].v3
			     : kinds[i].v2 ? kinds[i].v2
					   : kinds[i].v1;

		rc = !fn ? NVML_FUNCTION_NOT_FOUND
			 : list_processes(n, d, fn,
					  fn == kinds[i].v1 ? sizeof(struct nvml_process_v1)
							    : sizeof(struct nvml_process));
		if (i == 0)
			first = rc;
		else if (rc != NVML_OK && rc != NVML_NOT_SUPPORTED && rc != NVML_NOT_FOUND &&
			 rc != NVML_FUNCTION_NOT_FOUND && first == NVML_OK)
			first = rc;
	}
	*ret = n->merged;
	*ret_count = n->n_merged;
	return first == NVML_NOT_FOUND ? NVML_OK : first;
}

enum nvml_rc nvml_utilization(struct nvml *n, nvml_dev d, uint64_t last_us,
			      const struct nvml_utilization **ret, unsigned *ret_count)
{
	enum nvml_rc rc = NVML_INSUFFICIENT_SIZE;
	unsigned count = 0, want = n->util_size ? n->util_size : 64;

	for (int i = 0; i < GROWTHS_MAX && rc == NVML_INSUFFICIENT_SIZE; i++) {
		if (grow_list(&n->util, &n->util_size, want, sizeof(*n->util)) < 0)
			return NVML_INSUFFICIENT_SIZE;
		count = n->util_size;
		rc = CALL(utilization, d, n->util, &count, last_us);
		want = count > n->util_size ? count + count / 4 + 8 : n->util_size * 2;
	}
	if (rc == NVML_OK && count > n->util_size)
		return NVML_UNKNOWN;
	*ret = n->util;
	*ret_count = rc == NVML_OK ? count : 0;
	return rc == NVML_OK && !count ? NVML_NOT_FOUND : rc;
}

static unsigned value_percent(const struct nvml_sample *s, unsigned type)
{
	if (type == NVML_VALUE_UINT)
		return s->value.ui;
	if (type == NVML_VALUE_DOUBLE)
		return s->value.d >= 0 && s->value.d <= 100 ? (unsigned)s->value.d : 101;
	return s->value.ull > 100 ? 101 : (unsigned)s->value.ull;
}

enum nvml_rc nvml_busy(struct nvml *n, nvml_dev d, uint64_t last_us,
		       const struct nvml_busy **ret, unsigned *ret_count)
{
	unsigned count = 0, type = NVML_VALUE_UINT, used = 0;
	enum nvml_rc rc;

	/* Without a buffer the call returns the largest number of samples. */
	if (!n->sample_size) {
		rc = CALL(samples, d, NVML_SAMPLES_GPU, 0, &type, &count, NULL);
		if (rc != NVML_OK)
			return rc;
		if (grow_list(&n->busy, &n->busy_size, count + 16, sizeof(*n->busy)) < 0 ||
		    grow_list(&n->ring, &n->sample_size, n->busy_size, sizeof(*n->ring)) < 0)
			return NVML_INSUFFICIENT_SIZE;
	}
	count = n->sample_size;
	rc = CALL(samples, d, NVML_SAMPLES_GPU, last_us, &type, &count, n->ring);
	if (rc != NVML_OK)
		return rc;
	for (unsigned i = 0; i < count && i < n->sample_size; i++) {
		unsigned percent = value_percent(&n->ring[i], type);

		if (percent <= 100 && n->ring[i].time_us > last_us)
			n->busy[used++] = (struct nvml_busy){ n->ring[i].time_us, percent };
	}
	*ret = n->busy;
	*ret_count = used;
	return used ? NVML_OK : NVML_NOT_FOUND;
}

enum nvml_rc nvml_acct_on(struct nvml *n, nvml_dev d, bool *ret_switched)
{
	unsigned mode = 0;
	enum nvml_rc rc = !n->acct_pids || !n->acct_stats ? NVML_FUNCTION_NOT_FOUND
							  : CALL(acct_mode, d, &mode);

	*ret_switched = false;
	if (rc != NVML_OK || mode == 1)
		return rc;
	rc = CALL(acct_set, d, 1);
	*ret_switched = rc == NVML_OK;
	return rc;
}

enum nvml_rc nvml_acct_pids(struct nvml *n, nvml_dev d, const unsigned **ret,
			    unsigned *ret_count)
{
	enum nvml_rc rc = NVML_INSUFFICIENT_SIZE;
	unsigned count = 0, want = n->pids_size ? n->pids_size : 256;

	for (int i = 0; i < GROWTHS_MAX && rc == NVML_INSUFFICIENT_SIZE; i++) {
		if (grow_list(&n->pids, &n->pids_size, want, sizeof(*n->pids)) < 0)
			return NVML_INSUFFICIENT_SIZE;
		count = n->pids_size;
		rc = CALL(acct_pids, d, &count, n->pids);
		want = count > n->pids_size ? count + count / 4 + 8 : n->pids_size * 2;
	}
	if (rc == NVML_OK && count > n->pids_size)
		return NVML_UNKNOWN;
	*ret = n->pids;
	*ret_count = rc == NVML_OK ? count : 0;
	return rc == NVML_NOT_FOUND ? NVML_OK : rc;
}

enum nvml_rc nvml_acct(struct nvml *n, nvml_dev d, unsigned pid, struct nvml_accounting *ret)
{
	memset(ret, 0, sizeof(*ret));
	return CALL(acct_stats, d, pid, ret);
}
