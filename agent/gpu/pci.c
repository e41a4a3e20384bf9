/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pci.c - reads from sysfs which GPUs are on the PCI bus, their NUMA node and DRM files; see
 * pci.h. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include "agent/gpu/book.h"
#include "agent/gpu/pci.h"

int pci_read_line(const char *path, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	if (!f || !fgets(ret, (int)size, f))
		return -ENOENT;
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

int pci_read_number(const char *path, int64_t *ret)
{
	char line[64], *end;
	long long v;

	if (pci_read_line(path, line, sizeof(line)) < 0)
		return -ENOENT;
	errno = 0;
	v = strtoll(line, &end, 0);
	if (errno || end == line || *end)
		return -EINVAL;
	*ret = v;
	return 0;
}

static bool is_gpu(const char *sys, const char *bus_id, unsigned vendor)
{
	char path[512];
	int64_t v = 0, class = 0;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/vendor", sys, bus_id);
	if (pci_read_number(path, &v) < 0 || v != vendor)
		return false;
	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/class", sys, bus_id);
	return pci_read_number(path, &class) == 0 &&
	       (class >> 16 == 0x03 || class >> 16 == 0x12);
}

int pci_count(const char *sys, unsigned vendor)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *e;
	char path[512];
	int n = 0;

	snprintf(path, sizeof(path), "%s/bus/pci/devices", sys);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			n += is_gpu(sys, e->d_name, vendor);
	return n;
}

int16_t pci_numa_node(const char *sys, const char *bus_id)
{
	char path[512];
	int64_t v = -1;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/numa_node", sys, bus_id);
	return pci_read_number(path, &v) == 0 && v >= 0 && v <= INT16_MAX ? (int16_t)v : -1;
}

void pci_add_drm_files(struct gpu_device *d, const char *sys, const char *dev)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *e;
	char path[512], name[300];

	if (!d->bus_id[0])
		return;
	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/drm", sys, d->bus_id);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, "card", 4) != 0 && strncmp(e->d_name, "renderD", 7) != 0)
			continue;
		snprintf(name, sizeof(name), "dri/%s", e->d_name);
		book_add_file(d, dev, name);
	}
}
