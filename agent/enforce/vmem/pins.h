/* pins.h - the directories in which the vmem programs outlive the agent. Private.
 *
 * PIN_DIR/vmem-vN is the set in force, PIN_DIR/vmem-vN-new one in the making. A set in force is
 * whole; one in the making counts only when no set is in force any more (a crash in between).
 */
#pragma once
#include "common/err.h"

/* 0: a set of this version stands; 1: nothing is pinned; 2: only others are. */
int vmem_pins_find(const char *pin_dir, struct err *err);
/* Descriptor of an object in the set in force, or -errno. */
int vmem_pins_get(const char *pin_dir, const char *name);

/* Make an empty "-new" set; put objects into it; let it replace all others. */
int vmem_pins_begin(const char *pin_dir, struct err *err);
int vmem_pins_put(const char *pin_dir, const char *name, int fd, struct err *err);
int vmem_pins_commit(const char *pin_dir, struct err *err);
/* Remove every set but the one in force. */
int vmem_pins_tidy(const char *pin_dir, struct err *err);

/* Call fn with the object `name` of every set but the one in the making. */
typedef int (*vmem_pins_fn)(void *ctx, int fd, struct err *err);
int vmem_pins_each_old(const char *pin_dir, const char *name, vmem_pins_fn fn, void *ctx,
		       struct err *err);
/* Remove every set. */
int vmem_pins_remove(const char *pin_dir, struct err *err);
