/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drm.c - finds the GPUs of AMD and Intel in sysfs. See drm.h. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include "agent/gpu/drm/drm_impl.h"
#include "agent/gpu/pci.h"
#include "common/err.h"

#define LEAST_BYTES (1LL << 30) /* less: integrated graphics, no accelerator */

/* Where the driver does not say the product: by the device's number on the bus. */
static const struct {
	int vendor, device;
	const char *name;
} products[] = {
	{ PCI_AMD, 0x738c, "AMD Instinct MI100" },
	{ PCI_AMD, 0x740c, "AMD Instinct MI250X" },
	{ PCI_AMD, 0x740f, "AMD Instinct MI210" },
	{ PCI_AMD, 0x74a0, "AMD Instinct MI300A" },
	{ PCI_AMD, 0x74a1, "AMD Instinct MI300X" },
	{ PCI_INTEL, 0x0bd5, "Intel Data Center GPU Max 1550" },
	{ PCI_INTEL, 0x0bda, "Intel Data Center GPU Max 1100" },
	{ PCI_INTEL, 0x56c0, "Intel Data Center GPU Flex 170" },
	{ PCI_INTEL, 0x56c1, "Intel Data Center GPU Flex 140" },
	{ PCI_INTEL, 0x56a0, "Intel Arc A770" },
};

struct card {
	char dir[400]; /* /sys/bus/pci/devices/BUS */
	int64_t vendor, device;
};

static int64_t read_number(const struct card *c, const char *file, int64_t otherwise)
{
	char path[512];
	int64_t v;

	snprintf(path, sizeof(path), "%s/%s", c->dir, file);
	return pci_read_number(path, &v) == 0 ? v : otherwise;
}

static void set_product(const struct card *c, struct gpu_device *d)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/product_name", c->dir);
	if (pci_read_line(path, d->product, sizeof(d->product)) == 0 && d->product[0])
		return;
	for (size_t i = 0; i < ARRAY_LEN(products); i++)
		if (products[i].vendor == c->vendor && products[i].device == c->device) {
			snprintf(d->product, sizeof(d->product), "%s", products[i].name);
			return;
		}
	snprintf(d->product, sizeof(d->product), "%s GPU %04llx",
		 c->vendor == PCI_AMD ? "AMD" : "Intel", (unsigned long long)c->device);
}

/* ROCm names a GPU by "GPU-" and its unique id. */
static void set_uuid(const struct card *c, struct gpu_device *d)
{
	char path[512], id[40];

	snprintf(path, sizeof(path), "%s/unique_id", c->dir);
	if (c->vendor == PCI_AMD && pci_read_line(path, id, sizeof(id)) == 0 && id[0])
		snprintf(d->uuid, sizeof(d->uuid), "GPU-%s",
			 !strncmp(id, "0x", 2) ? id + 2 : id);
	else
		snprintf(d->uuid, sizeof(d->uuid), "%s", d->bus_id);
}

/* AMD's driver has a file for it. Intel: the size of the second PCI region, which covers all of
 * the memory where the host allows that (resizable BAR). */
static int64_t memory_of(const struct card *c)
{
	unsigned long long start = 0, end = 0;
	_cleanup_fclose_ FILE *f = NULL;
	char path[512], line[128];

	if (c->vendor == PCI_AMD)
		return read_number(c, "mem_info_vram_total", 0);
	snprintf(path, sizeof(path), "%s/resource", c->dir);
	f = fopen(path, "re");
	for (int i = 0; f && i < 3; i++)
		if (!fgets(line, sizeof(line), f) ||
		    sscanf(line, "0x%llx 0x%llx", &start, &end) != 2)
			return 0;
	return end > start ? (int64_t)(end - start + 1) : 0;
}

static void find_energy(const struct card *c, struct drm_gpu *g)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *e;
	char path[420];
	int64_t v;

	snprintf(path, sizeof(path), "%s/hwmon", c->dir);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, "hwmon", 5) != 0 || strlen(e->d_name) > 60)
			continue;
		snprintf(g->energy_path, sizeof(g->energy_path), "%s/%.60s/energy1_input", path,
			 e->d_name);
		if (pci_read_number(g->energy_path, &v) == 0)
			return;
		g->energy_path[0] = '\0';
	}
}

static int keep_device(struct drm *d, const struct gpu_device *dev, const struct card *c)
{
	struct drm_gpu *more = reallocarray(d->gpus, (size_t)d->n_gpus + 1, sizeof(*more));
	int at;

	if (!more)
		return -ENOMEM;
	d->gpus = more;
	at = book_add(d->b, dev);
	if (at < 0)
		return at;
	more = &d->gpus[d->n_gpus++];
	*more = (struct drm_gpu){ .device = at, .idle_bytes = -1 };
	if (c->vendor == PCI_AMD)
		snprintf(more->vram_path, sizeof(more->vram_path), "%s/mem_info_vram_used",
			 c->dir);
	find_energy(c, more);
	return 0;
}

static int add_card(struct drm *d, const char *bus_id)
{
	struct gpu_device dev = { .parent = -1, .index = d->n_gpus };
	struct card c;
	int64_t class;

	snprintf(c.dir, sizeof(c.dir), "%s/bus/pci/devices/%s", d->o.sys, bus_id);
	snprintf(dev.bus_id, sizeof(dev.bus_id), "%.15s", bus_id);
	c.vendor = read_number(&c, "vendor", 0);
	c.device = read_number(&c, "device", 0);
	class = read_number(&c, "class", 0) >> 16;
	if ((c.vendor != PCI_AMD && c.vendor != PCI_INTEL) || (class != 0x03 && class != 0x12))
		return 0;
	dev.vendor = c.vendor == PCI_AMD ? GPU_AMD : GPU_INTEL;
	dev.mem_bytes = memory_of(&c);
	set_product(&c, &dev);
	if (dev.mem_bytes < LEAST_BYTES) {
		book_note(d->b, "%s at %s is not offered: it has no memory of its own of a GB",
			  dev.product, dev.bus_id);
		return 0;
	}
	set_uuid(&c, &dev);
	gpu_model_of(dev.product, dev.mem_bytes, dev.model);
	dev.numa_node = pci_numa_node(d->o.sys, dev.bus_id);
	pci_add_drm_files(&dev, d->o.sys, d->o.dev);
	if (!dev.n_files) {
		book_note(d->b, "%s at %s is not offered: its driver is not loaded",
			  dev.product, dev.bus_id);
		return 0;
	}
	return keep_device(d, &dev, &c);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int find_all(struct drm *d)
{
	struct dirent **list = NULL;
	char path[512];
	int n, r = 0;

	snprintf(path, sizeof(path), "%s/bus/pci/devices", d->o.sys);
	n = scandir(path, &list, NULL, by_name);
	for (int i = 0; i < n; i++) {
		if (r == 0 && list[i]->d_name[0] != '.')
			r = add_card(d, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return r == -ENOSPC ? 0 : r;
}

int drm_open(const struct gpu_options *o, struct book *b, struct drm **ret, struct err *err)
{
	struct drm *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->b = b;
	d->o = *o;
	r = find_all(d);
	if (r < 0) {
		drm_close(d);
		return err_set(err, r, "out of memory");
	}
	if (d->n_gpus)
		book_note(b,
			  "GPUs of AMD and Intel: the kernel does not tell what a process did "
			  "between the last look and its end");
	*ret = d;
	return 0;
}

struct drm *drm_close(struct drm *d)
{
	if (!d)
		return NULL;
	free(d->gpus);
	free(d->clients);
	free(d);
	return NULL;
}
