/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pci.h - GPUs on the PCI bus as sysfs lists them: how many, their NUMA node, their DRM
 * files. */
#pragma once
#include "agent/gpu/gpu.h"

#define PCI_AMD 0x1002
#define PCI_NVIDIA 0x10de
#define PCI_INTEL 0x8086

/* The number in a file of sysfs, in C's notation; -ENOENT, -EINVAL. */
int pci_read_number(const char *path, int64_t *ret);
/* The first line, without its end; -ENOENT. */
int pci_read_line(const char *path, char *ret, size_t size);

/* Display controllers and accelerators of this vendor. */
int pci_count(const char *sys, unsigned vendor);
int16_t pci_numa_node(const char *sys, const char *bus_id); /* -1: not told */
/* card* and renderD* of the device on the bus. */
void pci_add_drm_files(struct gpu_device *d, const char *sys, const char *dev);
