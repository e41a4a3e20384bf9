/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pins.h - the directories on bpffs that keep the vmem programs attached without the agent.
 * Private to agent/enforce/vmem/.
 *
 * PIN_DIR/vmem-vN is the set in force and always complete. PIN_DIR/vmem-vN-new is being made; it
 * is used only where no set is in force any more (the agent died between two renames).
 */
#pragma once
#include "common/err.h"

/* 0: a set of this version is in force; 1: nothing is pinned; 2: only other sets are. */
int vmem_pins_find(const char *pin_dir, struct err *err);
/* Descriptor of an object in the set in force, or -errno. */
int vmem_pins_get(const char *pin_dir, const char *name);

/* Put an object into the set in force, or take it out: only what vmem/hot.h attaches and detaches. */
int vmem_pins_add(const char *pin_dir, const char *name, int fd, struct err *err);
int vmem_pins_drop(const char *pin_dir,
		   const char *name); /* 0, also if it is not there; -errno */

/* Make an empty "-new" set; put objects into it; let it replace all others. */
int vmem_pins_begin(const char *pin_dir, struct err *err);
int vmem_pins_put(const char *pin_dir, const char *name, int fd, struct err *err);
int vmem_pins_commit(const char *pin_dir, struct err *err);
/* Remove every set but the one in force. */
int vmem_pins_tidy(const char *pin_dir, struct err *err);

/* Call fn with the object `name` of every set but the new one; fd is closed after the call. */
typedef int (*vmem_pins_fn)(void *ctx, int fd, struct err *err);
int vmem_pins_each_old(const char *pin_dir, const char *name, vmem_pins_fn fn, void *ctx,
		       struct err *err);
/* Remove every set. */
int vmem_pins_remove(const char *pin_dir, struct err *err);
