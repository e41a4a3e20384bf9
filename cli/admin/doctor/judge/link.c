/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link.c - see link.h. */
#include <inttypes.h>
#include <string.h>
#include "cli/admin/doctor/judge/link.h"

#define MS_NS INT64_C(1000000)
#define SECOND_NS (1000 * MS_NS)
/* A credential is valid for 60 s (common/auth/auth.h); the times of a node's reports may differ from the controller's by 2 s. */
#define CLOCK_WARN_MS 2000
#define CLOCK_FAIL_MS 30000
#define SILENT_WARN_S 90
#define DAY_S 86400
#define CERTIFICATE_WARN_S (14 * DAY_S)
#define RSA_BITS_MAX 2048
#define CERTIFICATE_FAIL_S (2 * DAY_S)
#define UNAUTHENTICATED 401
#define UNAVAILABLE 503

void judge_munge(struct judge_report *r, const struct judge_munge *m)
{
	if (m->is_good) {
		judge_add(r, "munge", JUDGE_OK,
			  "munged makes credentials here and decodes them");
		return;
	}
	judge_add(r, "munge", JUDGE_FAIL, "munge does not work here: %s", m->words);
	judge_remedy(r, m->is_away ? "systemctl enable --now munge"
				   : "munge -n | unmunge; journalctl -u munge -n 20");
}

/* ---- the controller ---- */

static void judge_refusal(struct judge_report *r, const struct judge_about *a)
{
	if (a->status == UNAVAILABLE && strstr(a->words, "stands by")) {
		judge_add(r, "controller", JUDGE_OK, "%s: %s", a->url, a->words);
		return;
	}
	judge_add(r, "controller", JUDGE_FAIL, "%s %s: %s", a->url,
		  a->status == UNAUTHENTICATED ? "does not decode what munge signs here"
		  : a->status > 0	       ? "refuses to answer"
					       : "does not answer",
		  a->words);
	if (a->status == UNAUTHENTICATED)
		judge_remedy(r, "compare on both machines: sha256sum /etc/munge/munge.key; "
				"date +%%s; then: systemctl restart munge");
	else if (a->status > 0)
		judge_remedy(r, "journalctl -u reeve-controller -n 50 (on the controller)");
	else
		judge_remedy(r,
			     "systemctl status reeve-controller (on the controller); curl -s "
			     "%s/metrics | head",
			     a->url);
}

static void judge_signed(struct judge_report *r, const struct judge_about *a)
{
	if (*a->signed_why) {
		judge_add(
			r, "signature", JUDGE_UNCHECKED,
			"whether this machine decodes what the controller signs is not known: "
			"%s",
			a->signed_why);
	} else if (a->signed_status) {
		judge_add(r, "signature", JUDGE_FAIL,
			  "an answer of the controller cannot be trusted here: %s",
			  a->signed_words);
		judge_remedy(r, "compare sha256sum /etc/munge/munge.key on both machines, and "
				"ControllerUser= with the user of reeve-controller.service");
	} else {
		judge_add(r, "signature", JUDGE_OK,
			  "this machine decodes what the controller signs");
	}
}

void judge_about(struct judge_report *r, const struct judge_about *a)
{
	if (*a->why) {
		judge_add(r, "controller", JUDGE_UNCHECKED, "no controller was asked: %s",
			  a->why);
		return;
	}
	if (a->status) {
		judge_refusal(r, a);
		judge_add(
			r, "signature", JUDGE_UNCHECKED,
			"whether this machine decodes what the controller signs is not known: "
			"it did not answer");
		return;
	}
	judge_add(r, "controller", JUDGE_OK, "%s decodes what munge signs here", a->url);
	judge_signed(r, a);
}

/* A credential that munged refuses for its time says in which direction the clocks differ. */
static bool judge_refused_clock(struct judge_report *r, const struct judge_about *a)
{
	bool is_old = strstr(a->words, "xpired credential");
	bool is_early = strstr(a->words, "ewound credential");

	if (a->status != UNAUTHENTICATED || (!is_old && !is_early))
		return false;
	judge_add(r, "clock", JUDGE_FAIL,
		  "this machine's clock is %s the controller's by more than credentials allow",
		  is_old ? "behind" : "before");
	judge_remedy(r, "chronyc makestep; or timedatectl set-ntp true (on the machine whose "
			"clock is wrong)");
	return true;
}

void judge_clock(struct judge_report *r, const struct judge_about *a)
{
	int64_t middle_ns = a->asked_ns / 2 + a->told_ns / 2;
	int64_t off_ms = (middle_ns - a->now_ns) / MS_NS;
	int64_t by_ms = off_ms < 0 ? -off_ms : off_ms;
	int64_t exact_ms = (a->told_ns - a->asked_ns) / 2 / MS_NS;

	if (*a->why || a->status || !a->now_ns) {
		if (*a->why || !judge_refused_clock(r, a))
			judge_add(r, "clock", JUDGE_UNCHECKED,
				  "the clocks were not compared: %s",
				  *a->why ? a->why : "the controller did not answer");
		return;
	}
	/* What the exchange took may be all on one way. */
	by_ms = by_ms > exact_ms ? by_ms - exact_ms : 0;
	judge_add(r, "clock",
		  by_ms >= CLOCK_FAIL_MS   ? JUDGE_FAIL
		  : by_ms >= CLOCK_WARN_MS ? JUDGE_WARN
					   : JUDGE_OK,
		  "this machine's clock is %" PRId64 " ms %s the controller's (to %" PRId64
		  " ms)",
		  off_ms < 0 ? -off_ms : off_ms, off_ms < 0 ? "behind" : "before", exact_ms);
	if (by_ms >= CLOCK_WARN_MS)
		judge_remedy(r, "chronyc makestep; or timedatectl set-ntp true (on the machine "
				"whose clock is wrong)");
}

/* An RSA signature of 2048 bits takes four times as long as an ECDSA signature (P-256), of 4096 bits seventeen times: tests/bench/web/tls.sh. */
static void judge_key(struct judge_report *r, const struct judge_about *a, const char *path)
{
	if (a->rsa_bits <= RSA_BITS_MAX)
		return;
	judge_add(
		r, "certificate-key", JUDGE_WARN,
		"the key of the certificate is RSA of %d bits: each TLS handshake costs the controller "
		"several times as much as with an EC key",
		a->rsa_bits);
	judge_remedy(
		r,
		"make a key with openssl ecparam -name prime256v1 -genkey, and a certificate "
		"for it in %s; systemctl reload reeve-controller",
		path);
}

void judge_certificate(struct judge_report *r, const struct judge_about *a, const char *path)
{
	if (!path) {
		judge_add(r, "certificate", JUDGE_NONE,
			  "the controller has no Certificate=: it serves plain http");
		return;
	}
	if (*a->why || a->status) {
		judge_add(
			r, "certificate", JUDGE_UNCHECKED,
			"when the certificate in %s expires is not known: the controller did not "
			"answer",
			path);
		return;
	}
	if (!a->has_certificate) {
		judge_add(
			r, "certificate", JUDGE_WARN,
			"the controller was started before Certificate= was set: it serves plain "
			"http");
		judge_remedy(r, "systemctl restart reeve-controller");
		return;
	}
	judge_add(r, "certificate",
		  a->certificate_left_s < CERTIFICATE_FAIL_S   ? JUDGE_FAIL
		  : a->certificate_left_s < CERTIFICATE_WARN_S ? JUDGE_WARN
							       : JUDGE_OK,
		  "the certificate that the controller uses expires in %" PRId64 " days",
		  a->certificate_left_s / DAY_S);
	if (a->certificate_left_s < CERTIFICATE_WARN_S)
		judge_remedy(r, "put a new one into %s; systemctl reload reeve-controller",
			     path);
	judge_key(r, a, path);
}

/* ---- nodes ---- */

void judge_registered(struct judge_report *r, const struct judge_registered *n)
{
	if (*n->why) {
		judge_add(r, "registered", JUDGE_UNCHECKED,
			  "what the controller knows of node %s is not known: %s", n->node,
			  n->why);
	} else if (!n->is_known) {
		judge_add(r, "registered", JUDGE_FAIL, "the controller has no node %s",
			  n->node);
		judge_remedy(r,
			     "add [Node %s] to /etc/reeve/controller.conf and restart "
			     "reeve-controller; journalctl -u reeve-agent -n 20",
			     n->node);
	} else if (*n->drain) {
		judge_add(r, "registered", JUDGE_WARN, "node %s is drained by %s", n->node,
			  n->drain);
		judge_remedy(r, "reeve nodes resume %s", n->node);
	} else if (strcmp(n->state, "up") != 0) {
		judge_add(r, "registered", JUDGE_FAIL, "the controller has node %s as '%s'",
			  n->node, n->state);
		judge_remedy(r,
			     "systemctl restart reeve-agent; journalctl -u reeve-agent -n 50");
	} else if (n->silent_s > SILENT_WARN_S) {
		judge_add(r, "registered", JUDGE_WARN,
			  "the controller has not heard of node %s for %" PRId64 " s", n->node,
			  n->silent_s);
		judge_remedy(r,
			     "systemctl reload reeve-agent; journalctl -u reeve-agent -n 50");
	} else {
		judge_add(r, "registered", JUDGE_OK,
			  "the controller has node %s as up, heard of %" PRId64 " s ago",
			  n->node, n->silent_s);
	}
}

void judge_nodes(struct judge_report *r, const struct judge_nodes *n)
{
	if (*n->why) {
		judge_add(r, "nodes", JUDGE_UNCHECKED, "the nodes were not listed: %s", n->why);
		return;
	}
	if (n->n_up < n->n) {
		judge_add(r, "nodes", JUDGE_WARN, "%zu of %zu nodes are not up (%s)",
			  n->n - n->n_up, n->n, n->first_down);
		judge_remedy(r, "reeve nodes; on the node: reeve admin doctor node");
	}
	if (n->n_other) {
		judge_add(r, "nodes", JUDGE_WARN,
			  "%zu of %zu nodes have another version than the controller (%s: %s)",
			  n->n_other, n->n, n->first_other, n->other_version);
		judge_remedy(r, "reeve nodes -o node,version; upgrade reeve-agent there");
	}
	if (n->n_up == n->n && !n->n_other)
		judge_add(r, "nodes", n->n ? JUDGE_OK : JUDGE_WARN,
			  n->n ? "all nodes are up, with the version of the controller: %zu"
			       : "no node has reported yet (%zu)",
			  n->n);
}

/* ---- a test job ---- */

void judge_job(struct judge_report *r, const struct judge_job *j)
{
	if (!j->user) {
		judge_add(r, "job", JUDGE_NONE,
			  "no test job was asked for: --job USER runs one, which is charged");
	} else if (*j->why) {
		judge_add(r, "job", JUDGE_UNCHECKED, "no test job was run: %s", j->why);
	} else if (j->status) {
		judge_add(r, "job", JUDGE_FAIL, "the test job of %s ended with status %d: %s",
			  j->user, j->status, j->words);
		judge_remedy(r, "reeve jobs -u %s; reeve why ID", j->user);
	} else if (!j->has_word) {
		judge_add(r, "job", JUDGE_FAIL,
			  "the test job of %s ended well, but its output did not come back",
			  j->user);
		judge_remedy(r, "journalctl -u reeve-agent -u reeve-controller -n 50");
	} else if (!j->is_in_job) {
		judge_add(r, "job", JUDGE_FAIL,
			  "the test job of %s ran in a cgroup that is of no job", j->user);
		judge_remedy(r, "journalctl -u reeve-agent -n 50 (on its node)");
	} else {
		judge_add(r, "job", JUDGE_OK,
			  "a test job of %s ran in its cgroup, and its output came back, in "
			  "%" PRId64 " ms",
			  j->user, j->took_ms);
	}
}
