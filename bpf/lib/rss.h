/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rss.h - the resident pages of an address space. Kernel side only. */
#ifndef REEVE_BPF_RSS_H
#define REEVE_BPF_RSS_H

static __always_inline __u64 rss_at_least_zero(long n)
{
	return n > 0 ? n : 0;
}

/* The indices are MM_FILEPAGES 0, MM_ANONPAGES 1, MM_SHMEMPAGES 3; 2 is swap. From 6.2 on they
 * are per-CPU counters: what the CPUs have not yet added is missing, and a sum may be below
 * zero. `mm` may be NULL. */
static __always_inline __u64 rss_pages(struct mm_struct *mm)
{
	struct mm_struct___62 *later = (void *)mm;
	struct mm_struct___510 *earlier = (void *)mm;

	if (!mm)
		return 0;
	if (bpf_core_type_exists(struct mm_rss_stat))
		return rss_at_least_zero(BPF_CORE_READ(earlier, rss_stat.count[0].counter)) +
		       rss_at_least_zero(BPF_CORE_READ(earlier, rss_stat.count[1].counter)) +
		       rss_at_least_zero(BPF_CORE_READ(earlier, rss_stat.count[3].counter));
	return rss_at_least_zero(BPF_CORE_READ(later, rss_stat[0].count)) +
	       rss_at_least_zero(BPF_CORE_READ(later, rss_stat[1].count)) +
	       rss_at_least_zero(BPF_CORE_READ(later, rss_stat[3].count));
}

#endif
