/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring.h - a ring buffer to the agent, and the number of messages that found no room in it.
 * Kernel side only; the includer defines RING_BYTES before. */
#ifndef REEVE_BPF_RING_H
#define REEVE_BPF_RING_H

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

/* A message of zeros, to be submitted; NULL when there is no room, which is counted. `size`
 * must be a constant: the verifier demands it. */
static __always_inline void *ring_reserve(__u64 size)
{
	void *message = bpf_ringbuf_reserve(&ring, size, 0);
	__u32 zero = 0;
	__u64 *n;

	if (message) {
		__builtin_memset(message, 0, size);
		return message;
	}
	n = bpf_map_lookup_elem(&lost, &zero);
	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

#endif
