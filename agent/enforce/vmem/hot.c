/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hot.c - attaches the programs on the path of every mapping with the first job, and detaches them
 * after the last; see vmem/hot.h. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <bpf/bpf.h>
#include "agent/enforce/vmem/hot.h"
#include "agent/enforce/vmem/pins.h"
#include "common/cleanup.h"

/* The kernel ends a link some time after its last descriptor and pin are gone; until then the program
 * cannot be attached again: EBUSY for a trampoline, EEXIST for a tracepoint. */
#define BUSY_TRIES 500
#define BUSY_NS 2000000

void vmem_hot_keep(struct vmem_kernel *k, const char *program, int prog_fd, int link_fd)
{
	if (k->n_hot < VMEM_HOT_MAX)
		k->hot[k->n_hot++] = (struct vmem_hot){ program, prog_fd, link_fd };
}

bool vmem_hot_is_attached(const struct vmem_kernel *k)
{
	for (size_t i = 0; i < k->n_hot; i++)
		if (k->hot[i].link_fd < 0)
			return false;
	return true;
}

bool vmem_hot_is_detached(const struct vmem_kernel *k)
{
	for (size_t i = 0; i < k->n_hot; i++)
		if (k->hot[i].link_fd >= 0)
			return false;
	return true;
}

static int attach_program(int prog_fd)
{
	const struct timespec pause = { .tv_nsec = BUSY_NS };
	int fd = bpf_raw_tracepoint_open(NULL, prog_fd);

	for (int i = 0; fd < 0 && (errno == EBUSY || errno == EEXIST) && i < BUSY_TRIES; i++) {
		nanosleep(&pause, NULL);
		fd = bpf_raw_tracepoint_open(NULL, prog_fd);
	}
	return fd < 0 ? -errno : fd;
}

/* In the order of vmem_hot_keep(): what sees mappings shrink is attached before what sees them grow. */
int vmem_hot_attach(struct vmem_kernel *k, const char *pin_dir, struct err *err)
{
	for (size_t i = 0; i < k->n_hot; i++) {
		struct vmem_hot *h = &k->hot[i];
		int fd, rc;

		if (h->link_fd >= 0)
			continue;
		fd = attach_program(h->prog_fd);
		if (fd < 0)
			return err_set(err, fd, "attach %s: %s", h->program, strerror(-fd));
		rc = pin_dir ? vmem_pins_add(pin_dir, h->program, fd, err) : 0;
		if (rc < 0) {
			closep(&fd);
			return rc;
		}
		h->link_fd = fd;
	}
	return 0;
}

/* In the other order. The pin goes first: the last reference is then the descriptor, and the link ends with it. A program whose pin cannot be
 * removed stays attached: without the descriptor its link would be lost, and the program could not be attached again. */
void vmem_hot_detach(struct vmem_kernel *k, const char *pin_dir)
{
	for (size_t i = k->n_hot; i-- > 0;) {
		if (pin_dir && k->hot[i].link_fd >= 0 &&
		    vmem_pins_drop(pin_dir, k->hot[i].program) < 0)
			continue;
		closep(&k->hot[i].link_fd);
		k->hot[i].link_fd = -1;
	}
}

void vmem_hot_done(struct vmem_kernel *k)
{
	for (size_t i = 0; i < k->n_hot; i++) {
		closep(&k->hot[i].prog_fd);
		closep(&k->hot[i].link_fd);
	}
	k->n_hot = 0;
}
