/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request - what a job requests: the contract that all enforcement is measured by.
 *
 * Pure, no I/O. One table (`request_resources`) says which resources exist, how they are
 * typed and bounded; parser, printer, wire form and help all come from it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"
#include "common/model/amount.h"
#include "common/model/features.h"
#include "common/model/after.h"
#include "common/model/mail.h"
#include "common/model/select.h"

struct err;

#define REQUEST_NAME_MAX 64 /* bytes with the NUL: cluster, account, user, queue, job name */
#define REQUEST_SCRIPT_MAX (1 << 20)
#define REQUEST_ENV_MAX (256 << 10) /* all of env, with NULs */
#define REQUEST_IMMEDIATE_MAX_S (366 * 86400)

enum request_vmem_policy {
	VMEM_POLICY_KILL, /* the mapping that exceeds kills the job (default) */
	VMEM_POLICY_DENY, /* the call fails with ENOMEM and the job lives */
};

/* Amounts of a request. 0 = not stated, except where noted. */
struct resources {
	int64_t ncpus;	     /* whole cores */
	int64_t vmem_bytes;  /* sum of the virtual sizes of concurrent processes */
	int64_t mem_bytes;   /* resident: memory.max; derived from vmem when not stated */
	int64_t jobfs_bytes; /* node-local disk */
	int64_t walltime_s;  /* wall clock in the running state */
	int64_t ngpus;
	int64_t pids; /* processes and threads at once */
	/* Of ngpus: which, "a100-40"; "": any whole ones, never a part of one. */
	char gpu_model[REQUEST_NAME_MAX];
	/* What its node must be: its type (""; any), and all of these features. In small
	 * letters. */
	char node_type[REQUEST_NAME_MAX];
	char features[FEATURES_MAX];
};

/* The part of a job on several nodes that belongs to one node. */
struct job_part {
	int32_t index; /* 0: the job's command runs here; the others run what it starts on them */
	int32_t n;     /* parts of the job; 0: the job has one node */
	char *hosts;   /* "n1=16,n2=16": node and cores of each part, in their order */
};

struct request {
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	char queue[REQUEST_NAME_MAX], name[REQUEST_NAME_MAX];
	char qos[REQUEST_NAME_MAX]; /* "": not stated: the account's default, if it has one */
	uint32_t uid, gid;    /* set by the controller from the credential, never by the user */
	struct resources res; /* of the whole job; on a node: of its part */
	struct select select; /* in chunks; n 0: one chunk */
	bool is_exclusive;    /* its nodes are allocated whole, and charged whole */
	struct job_part part;
	enum request_vmem_policy vmem_policy;
	bool stream;	/* output is sent to the controller (`reeve run`) instead of files */
	bool join;	/* stderr into stdout */
	char *script;	/* text of the job script; NULL: run argv */
	char **argv;	/* command (script NULL) or the script's arguments; NULL-terminated */
	char **env;	/* NAME=value, NULL-terminated */
	char *workdir;	/* absolute */
	char *out_path; /* NULL: WORKDIR/NAME.oJOB and .eJOB; relative: below workdir */
	char *err_path;
	struct array array; /* n 0: one job */
	struct after_list after;
	bool is_held;		 /* by its owner, from the start */
	bool requeue;		 /* queued again when its node is lost */
	bool is_immediate;	 /* ended instead of waiting for longer than immediate_s */
	int64_t immediate_s;	 /* 0: the first scheduling pass that considers it decides */
	uint32_t mail_types;	 /* MAIL_BEGIN ...; 0: no mails */
	char *mail_user;	 /* addresses; NULL: the user's own */
	enum amount_units units; /* what MB, G ... mean while texts are read onto it */
};

void request_init(struct request *r); /* all zero and empty */
void request_done(struct request *r); /* frees what it owns; safe on zeroed memory */
/* Frees what only the start of the job needs, and what users make large: script, argv, env. */
void request_shed(struct request *r);
/* Deep copy. -ENOMEM. */
int request_copy(const struct request *from, struct request *ret, struct err *err);

enum resource_kind { RESOURCE_COUNT, RESOURCE_BYTES, RESOURCE_SECONDS };

struct resource_def {
	const char *name; /* as typed: "ncpus" */
	enum resource_kind kind;
	size_t offset; /* into struct resources */
	int64_t min, max;
	const char *help, *example;
};
extern const struct resource_def request_resources[]; /* ends with name == NULL */

/* "ncpus=4,vmem=2GB,walltime=0:10:00" onto *res; what is not named stays. Blanks around
 * items are fine. "ngpus=2" is any two whole GPUs, "ngpus=a100:2" two of a model;
 * "nodetype=t4" is where, "features=ib,nvme" what that node must have. Case does not matter.
 * -EINVAL: unknown resource (with the known ones), bad unit, zero, negative, overflow, the same
 * name twice, an empty list; err names the item. Nothing is written then. */
int resources_parse(const char *text, struct resources *res, struct err *err);
/* The same, where the site says what MB, G ... mean. */
int resources_parse_in(const char *text, enum amount_units units, struct resources *res,
		       struct err *err);
/* "a100-40", "a100_1g.5gb": 1..63 of [a-z0-9._+-], beginning with a letter. */
bool resources_is_gpu_model(const char *model);
/* The stated ones in table order, exact, parseable. Returns buf; 512 bytes always suffice. */
const char *resources_format(const struct resources *res, char *buf, size_t size);
/* An amount as it was typed. Amounts of the same resource are shown in its family of units (GB or GiB): `requested`, or if that is 0
 * the first of vmem, mem and jobfs that was requested. 0: none was. */
int64_t resources_like(const struct resources *res, int64_t requested);

/* One option as users type it, from the command line or a script line: key is one of
 * "resources" (-l) "name" (-N) "queue" (-q) "account" (-A, -P) "cluster" "output" (-o)
 * "error" (-e) "join" (-j oe) "workdir" (-d, -wd) "vmem-action" (kill|enomem) "array" (-J)
 * "depend" (-W depend=..., after.h) "after-ok" "after-any" "hold" (-h; no value) "requeue" (-r
 * y|n) "immediate" (seconds; NULL: now) "mail-type" "mail-user" (-M) "mail-points" (-m abe).
 * -EINVAL with the key, the value and the remedy. */
int request_set(struct request *r, const char *key, const char *value, struct err *err);

/* Read the `#REEVE` and `#PBS` lines at the head of a script (up to the first command) into
 * *r and keep the text as r->script. `file` is for messages ("FILE, line 3: ...").
 * -EINVAL: CRLF line ends, NUL bytes, no text, unknown directive option, too large; err says
 * how to mend it. #PBS options that Reeve has no meaning for (-S, -p, -V ...) are listed in
 * `ret_ignored` (separated by commas) and not an error. */
int request_parse_script(struct request *r, const char *text, size_t size, const char *file,
			 char ret_ignored[static 256], struct err *err);

/* Of a request in chunks: writes their sums to res. -EINVAL: amounts stated beside the chunks differ
 * from these sums. */
int request_total(struct request *r, struct err *err);

/* What must hold of every request, wherever it comes from: ncpus, vmem, jobfs and
 * walltime stated (site defaults are filled in before), names well formed, workdir absolute,
 * something to run, argv/env bounded, amounts inside the table's bounds. -EINVAL. */
int request_check(const struct request *r, struct err *err);
/* The same of what a node is to run: it may be a part, and other parts than the first have no
 * command. */
int request_check_given(const struct request *r, struct err *err);

/* `name` is 1..63 of [A-Za-z0-9._+-], not starting with '-' or '.'. */
bool request_is_name(const char *name);
/* The same, with the sentence: 0, or -EINVAL. */
int request_check_name(const char *name, struct err *err);
