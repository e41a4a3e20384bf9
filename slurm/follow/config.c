/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.c - the keys of reeve-slurm.conf; see config.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/err.h"
#include "common/time_units.h"
#include "slurm/follow/config.h"

#define AT(field) offsetof(struct follow_config, field)
#define TEXT(key, field, help, example)                                                        \
	{                                                                                      \
		"Slurm", key, CONF_TEXT, AT(field), 0, 0, NULL, help, example, CONF_RESTART    \
	}
#define NUMBER(key, type, field, min, max, help, example)                                      \
	{                                                                                      \
		"Slurm", key, type, AT(field), min, max, NULL, help, example, CONF_RESTART     \
	}

const struct conf_key follow_config_keys[] = {
	{ "Slurm", "Cluster", CONF_NAME, AT(cluster), 0, 0, NULL,
	  "[Cluster NAME] of controller.conf whose jobs these are", "vc", CONF_RESTART },
	TEXT("SlurmCluster", slurm_cluster,
	     "what Slurm calls it (ClusterName= of slurm.conf); default: as Cluster", "vc"),
	TEXT("SlurmConf", slurm_conf, "slurm.conf, where it is not the usual one",
	     "/etc/slurm/slurm.conf"),
	TEXT("Controller", controller, "URL of the controller; several by commas",
	     "http://head:8640"),
	TEXT("ControllerUser", controller_user,
	     "user that the controller runs as: only this user can read what is sent", "reeve"),
	TEXT("MungeSocket", munge_socket, "munged's socket; default: munge's own",
	     "/run/munge/munge.socket.2"),
	TEXT("CaFile", ca_file, "certificate authorities for https; default: the system's",
	     "/etc/reeve/ca.pem"),
	TEXT("ClientCertificate", client_certificate,
	     "file (PEM) with a certificate, where the controller asks for one",
	     "/etc/reeve/tls/slurm.pem"),
	TEXT("ClientKey", client_key, "file (PEM) with its key", "/etc/reeve/tls/slurm.key"),
	TEXT("Since", since_typed,
	     "day (UTC) from which on slurmdbd's jobs are taken into a ledger that has none yet; "
	     "default: from the first exchange on",
	     "2026-11-01"),
	NUMBER("LiveInterval", CONF_SECONDS, live_s, 1, 3600,
	       "between questions to slurmctld, which are answered with nothing where nothing has "
	       "changed",
	       "30s"),
	NUMBER("LoadLimit", CONF_COUNT, load_limit_ms, 1, 1000,
	       "milliseconds of slurmctld's time that these questions may take in a second, on "
	       "average: with many jobs the interval becomes longer",
	       "5"),
	NUMBER("LiveIntervalMax", CONF_SECONDS, live_max_s, 1, DAY_S,
	       "the longest interval that LoadLimit makes", "15m"),
	NUMBER("ProgressInterval", CONF_SECONDS, progress_s, 1, 86400,
	       "between reports of a running job that has not changed", "5m"),
	NUMBER("AccountingInterval", CONF_SECONDS, accounting_s, 1, 86400,
	       "between questions to slurmdbd", "60s"),
	NUMBER("Overlap", CONF_SECONDS, overlap_s, 0, 30 * DAY_S,
	       "how far before the last one a question to slurmdbd begins: rows come late",
	       "10m"),
	NUMBER("Window", CONF_SECONDS, window_s, 60, 366 * DAY_S,
	       "time for which slurmdbd is asked at once while a backlog is caught up",
	       "6:00:00"),
	NUMBER("Batch", CONF_COUNT, batch, 1, 1000, "jobs of one exchange with the controller",
	       "1000"),
	NUMBER("Timeout", CONF_SECONDS, timeout_s, 1, 600,
	       "how long to wait for the controller's answer", "60s"),
	NUMBER("Priority", CONF_BOOL, sets_priority, 0, 0,
	       "write Reeve's fairshare into SiteFactor of jobs that wait", "yes"),
	NUMBER("PriorityInterval", CONF_SECONDS, priority_s, 1, 3600,
	       "between looks at the jobs that wait", "60s"),
	NUMBER("PriorityUpdates", CONF_COUNT, priority_updates, 1, 100000,
	       "jobs whose SiteFactor is written in one interval, at most", "500"),
	TEXT("SubmitSocket", submit_socket, "where reeve-slurm-submit answers job_submit.lua",
	     "/run/reeve-slurm/submit.sock"),
	NUMBER("SubmitLimit", CONF_COUNT, submit_limit_ms, 10, 10000,
	       "milliseconds that the controller has for one submission: less than job_submit.lua's "
	       "500",
	       "400"),
	{ 0 },
};

static int set_default(char **to, const char *value, struct err *err)
{
	*to = strdup(value);
	return *to ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* Midnight UTC of the day, as slurmdbd and the ledger count. */
static int read_since(struct follow_config *c, struct err *err)
{
	struct tm day = { 0 };
	const char *end;

	if (!c->since_typed)
		return 0;
	end = strptime(c->since_typed, "%Y-%m-%d", &day);
	if (!end || *end)
		return err_set(err, -EINVAL, "Since=%.40s is not a day as 2026-11-01",
			       c->since_typed);
	c->since_s = timegm(&day);
	return 0;
}

static int check_config(struct follow_config *c, const char *path, struct err *err)
{
	if (!*c->cluster)
		return err_set(err, -EINVAL, "%s has no Cluster= in [Slurm]", path);
	if (!c->controller || !*c->controller)
		return err_set(err, -EINVAL, "%s has no Controller= in [Slurm]", path);
	return read_since(c, err);
}

int follow_config_load(const char *path, struct follow_config *ret, struct err *err)
{
	struct follow_config c = { .live_s = 30,
				   .live_max_s = 900,
				   .load_limit_ms = 5,
				   .progress_s = 300,
				   .accounting_s = 60,
				   .overlap_s = 600,
				   .window_s = 6 * HOUR_S,
				   .batch = 1000,
				   .timeout_s = 60,
				   .priority_s = 60,
				   .priority_updates = 500,
				   .submit_limit_ms = 400 };
	int r = set_default(&c.controller_user, "reeve", err);

	if (r >= 0)
		r = set_default(&c.submit_socket, FOLLOW_SUBMIT_SOCKET, err);
	if (r >= 0)
		r = conf_load(path, follow_config_keys, NULL, &c, err);
	if (r >= 0)
		r = check_config(&c, path, err);
	if (r < 0) {
		follow_config_done(&c);
		return r;
	}
	*ret = c;
	return 0;
}

void follow_config_done(struct follow_config *c)
{
	conf_done(follow_config_keys, NULL, c);
}

const char *follow_config_slurm_cluster(const struct follow_config *c)
{
	return c->slurm_cluster && *c->slurm_cluster ? c->slurm_cluster : c->cluster;
}
