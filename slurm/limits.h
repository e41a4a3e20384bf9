/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.h - what a job of Slurm asks of Reeve, and what its site allows. Pure.
 *
 * The site's part stands behind the plugin's name in plugstack.conf:
 *
 *	required reeve_spank.so default-vmem=8G max-vmem=512G default-jobfs=1G max-jobfs=200G unguarded=refuse
 *
 * The user's part are --vmem, --jobfs and --vmem-action. It is read once, where the job is submitted; slurmctld keeps it with the job
 * (SPANK_REEVE_LIMITS in the Prolog), so that nothing that the job does later can raise it. The Prolog lowers it to the bounds of
 * its node once more (limits_lower()).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/err.h"

struct limits_site {
	int64_t default_vmem_bytes, max_vmem_bytes;   /* 0: none */
	int64_t default_jobfs_bytes, max_jobfs_bytes; /* 0: none */
	bool runs_unguarded; /* unguarded=run: also where no agent answers */
	char socket[108];
};

struct limits {
	int64_t vmem_bytes, jobfs_bytes; /* 0: none */
	bool refuses; /* what exceeds vmem gets ENOMEM; else the job is killed */
};

/* The three options as typed; NULL: not given. */
struct limits_options {
	const char *vmem, *jobfs, *vmem_action;
};

/* -EINVAL names the word and what it may be. */
int limits_read_site(int n_words, char *const *words, struct limits_site *ret, struct err *err);
/* An amount as Slurm has them (K, M, G are powers of 1024), but with its unit: 4000 is 4000 MB in --mem and bytes elsewhere, and so
 * it is refused. -EINVAL, or -ERANGE above the site's bound. */
int limits_read_options(const struct limits_site *site, const struct limits_options *o,
			struct limits *ret, struct err *err);

/* On the node: lowers what came with the job to the site's bounds. True: it was above them. A user who submits with a plugstack.conf
 * of their own passes the check of the submission. */
bool limits_lower(const struct limits_site *site, struct limits *l);

/* As the job carries them: "vmem=104857600 jobfs=0 action=kill". */
#define LIMITS_TEXT_MAX 96
const char *limits_encode(const struct limits *l, char buf[static LIMITS_TEXT_MAX]);
/* -EINVAL: not such a text. */
int limits_decode(const char *text, struct limits *ret, struct err *err);
