/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nvml_double - what a test may ask of the double beside NVML's own functions (by dlsym). */
#pragma once
#include <stdint.h>

#define DOUBLE_EXPORT __attribute__((visibility("default")))
/* An NVML function: its name, its parameters in parentheses. */
#define FN(name, args)                                                                         \
	DOUBLE_EXPORT unsigned name args;                                                      \
	DOUBLE_EXPORT unsigned name args

DOUBLE_EXPORT extern const int reeve_nvml_double; /* which release it plays */
DOUBLE_EXPORT extern unsigned long nvml_double_calls;
/* The manual clock: microseconds since the world's begin. */
DOUBLE_EXPORT void nvml_double_set_us(uint64_t us);
/* As if the node's clock had been set: the times reported are later by that much from now on.
 */
DOUBLE_EXPORT void nvml_double_shift_us(int64_t us);
