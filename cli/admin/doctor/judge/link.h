/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link - judges munge, the exchange with the controller, the difference of the clocks, what the controller says of this node, and a test
 * job. */
#pragma once
#include <stdint.h>
#include "cli/admin/doctor/judge/files.h"

/* One credential, made and decoded here. */
struct judge_munge {
	bool is_good;
	bool is_away; /* munged does not listen */
	char words[JUDGE_WHY_MAX];
};
void judge_munge(struct judge_report *r, const struct judge_munge *m);

/* Of a question to the controller (GET /v1/about). */
struct judge_about {
	char url[JUDGE_PATH_MAX];
	char why[JUDGE_WHY_MAX]; /* none was asked */
	int status; /* 0: it answered; > 0: it refused with this HTTP status; < 0: it did not answer */
	char words[JUDGE_WHY_MAX]; /* of a refusal or a failure */
	char version[JUDGE_WORD_MAX];
	int64_t now_ns;		    /* by its clock */
	int64_t asked_ns, told_ns;  /* by ours: the question, the answer */
	bool has_certificate;	    /* it serves https itself */
	int64_t certificate_left_s; /* until it expires */
	int rsa_bits;		    /* of its key; 0: another algorithm, or not known */
	/* The same question with a signed answer; as status. */
	char signed_why[JUDGE_WHY_MAX]; /* it was not asked */
	int signed_status;
	char signed_words[JUDGE_WHY_MAX];
};
/* Whether it decodes our credentials, and we its. */
void judge_about(struct judge_report *r, const struct judge_about *a);
void judge_clock(struct judge_report *r, const struct judge_about *a);
/* On the controller's host: how long its certificate is still valid. `path`: where it is, or NULL. */
void judge_certificate(struct judge_report *r, const struct judge_about *a, const char *path);

/* What GET /v1/nodes says of this node. */
struct judge_registered {
	const char *node;
	char why[JUDGE_WHY_MAX]; /* not asked, or not answered */
	bool is_known;
	char state[JUDGE_WORD_MAX],
		drain[JUDGE_WHY_MAX]; /* drain: who and why; "": not drained */
	int64_t silent_s;
};
void judge_registered(struct judge_report *r, const struct judge_registered *n);

/* What GET /v1/nodes says of all nodes, on the controller's host. */
struct judge_nodes {
	char why[JUDGE_WHY_MAX];
	size_t n, n_up, n_other; /* other: of another version than the controller */
	char first_down[JUDGE_WORD_MAX], first_other[JUDGE_WORD_MAX];
	char other_version[JUDGE_WORD_MAX];
};
void judge_nodes(struct judge_report *r, const struct judge_nodes *n);

/* A job that prints a word. */
struct judge_job {
	const char *user;	   /* NULL: no test job was asked for */
	char why[JUDGE_WHY_MAX];   /* it could not be submitted */
	int status;		   /* of `reeve run` */
	bool has_word;		   /* its output came back */
	bool is_in_job;		   /* it ran in a cgroup of a job */
	char words[JUDGE_WHY_MAX]; /* the last words of `reeve run` */
	int64_t took_ms;
};
void judge_job(struct judge_report *r, const struct judge_job *j);
