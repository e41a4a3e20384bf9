/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared.c - what is checked on every kind of machine; see doctor.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/admin/doctor/doctor.h"
#include "cli/admin/doctor/gather/job.h"
#include "cli/admin/doctor/gather/machine.h"
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/utf8.h"
#include "common/version.h"
#include "controller/config/config.h"

/* ---- which kind of machine ---- */

/* Enabled, or started by hand. Without systemd: configured. */
static bool is_used(const char *unit, const char *config)
{
	struct judge_unit u;

	gather_unit(unit, &u);
	if (!u.has_systemd)
		return access(config, F_OK) == 0;
	return !strcmp(u.file, "enabled") || !strcmp(u.active, "active") ||
	       !strcmp(u.active, "activating") || !strcmp(u.active, "failed");
}

void doctor_detect(struct doctor *d)
{
	d->is_node = is_used("reeve-agent.service", d->agent_path);
	d->is_controller = is_used("reeve-controller.service", d->controller_path);
	if (d->is_node || d->is_controller)
		return;
	judge_add(
		d->report, "machine", JUDGE_NONE,
		"neither reeve-agent nor reeve-controller is enabled here: this is checked as "
		"a login machine");
	judge_remedy(d->report, "reeve admin doctor node; or reeve admin doctor controller");
}

/* ---- configurations ---- */

static void read_agent(struct doctor *d)
{
	struct judge_config c = { .check = "config",
				  .path = d->agent_path,
				  .command = "reeve-agent --check" };
	struct err err;

	if (gather_config_load(d->agent_path, &d->agent, &err) < 0) {
		judge_add(d->report, "config", JUDGE_FAIL, "%s", err.text);
		judge_remedy(d->report, "ls -l %s; reeve admin doctor --agent-config FILE",
			     d->agent_path);
		return;
	}
	gather_config_check("reeve-agent", &c);
	judge_config(d->report, &c);
}

/* "0.0.0.0:8640" is reached at this machine's own address. */
static void find_listen_url(struct doctor *d)
{
	const char *listen = d->controller->listen, *port = strrchr(listen, ':');

	if (port && !strncmp(listen, "0.0.0.0:", 8))
		snprintf(d->listen_url, sizeof(d->listen_url), "http://127.0.0.1%.8s", port);
	else if (port && !strncmp(listen, "[::]:", 5))
		snprintf(d->listen_url, sizeof(d->listen_url), "http://[::1]%.8s", port);
	else if (port)
		snprintf(d->listen_url, sizeof(d->listen_url), "http://%.100s", listen);
}

static void read_controller(struct doctor *d)
{
	struct judge_config c = { .check = "config",
				  .path = d->controller_path,
				  .command = "reeve admin check-config" };
	struct err err = { "" };

	c.is_good = config_load(d->controller_path, &d->controller, &err) >= 0;
	utf8_format(c.words, sizeof(c.words), "%s", err.text);
	judge_config(d->report, &c);
	if (d->controller && d->controller->listen && !d->controller->certificate)
		find_listen_url(d);
}

/* The address to use instead of the one in reeve.conf: the one typed; on a node the agent's; on a controller its own, but for
 * https, where the certificate has the name. */
static const char *choose_url(const struct doctor *d)
{
	if (d->typed_url)
		return d->typed_url;
	if (d->is_node)
		return d->agent.controller ? d->agent.controller : "";
	return d->is_controller && *d->listen_url ? d->listen_url : NULL;
}

static void read_client(struct doctor *d)
{
	const struct cli_config *c = &d->cli->config;
	struct err err = { "" };

	if (cli_config_load(&d->cli->config, d->typed_config, choose_url(d), &err) < 0) {
		judge_add(d->report, "config", JUDGE_FAIL, "%s", err.text);
		judge_remedy(d->report, "$EDITOR " CLI_CONFIG_SITE);
	}
	d->link = (struct gather_link){ .url = c->controller,
					.munge_socket = c->munge_socket,
					.ca_file = c->ca_file,
					.client_certificate = c->client_certificate,
					.client_key = c->client_key,
					.controller_user = c->controller_user
								   ? c->controller_user
								   : CLI_CONFIG_CONTROLLER,
					.timeout_s = c->timeout_s ? (long)c->timeout_s : 30 };
	if (d->is_node) {
		d->link.munge_socket = d->agent.munge_socket;
		d->link.ca_file = d->agent.ca_file;
		d->link.client_certificate = d->agent.client_certificate;
		d->link.client_key = d->agent.client_key;
		d->link.controller_user = d->agent.controller_user;
	} else if (d->controller && d->controller->munge_socket) {
		d->link.munge_socket = d->controller->munge_socket;
	}
}

void doctor_read(struct doctor *d)
{
	if (d->is_node)
		read_agent(d);
	if (d->is_controller)
		read_controller(d);
	read_client(d);
}

void doctor_done(struct doctor *d)
{
	if (d->is_node)
		gather_config_done(&d->agent);
	d->controller = config_free(d->controller);
}

/* ---- munge, the controller ---- */

/* Units that not every machine has: judged where they are enabled or have failed. */
static void check_units(struct doctor *d)
{
	static const char *const units[] = { "munge.service", "reeve-slurm.service",
					     "reeve-slurm-submit.service",
					     "reeve-reconcile.service" };
	struct judge_unit u;

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		gather_unit(units[i], &u);
		if (!strcmp(u.load, "loaded") &&
		    (!strcmp(u.file, "enabled") || !strcmp(u.active, "failed") ||
		     !strcmp(u.active, "active")))
			judge_unit(d->report, &u);
	}
}

void doctor_link(struct doctor *d)
{
	struct judge_munge munge;

	check_units(d);
	gather_munge(d->link.munge_socket, &munge);
	judge_munge(d->report, &munge);
	if (!munge.is_good)
		d->link.why = "munge does not work here";
	gather_about(&d->link, &d->about);
	judge_about(d->report, &d->about);
	judge_clock(d->report, &d->about);
}

/* ---- versions, a test job ---- */

static void check_versions(struct doctor *d)
{
	struct judge_version v[4] = { 0 };
	struct judge_agent agent;
	size_t n = 0;

	if (d->is_node) {
		v[n] = (struct judge_version){
			.what = "the program reeve-agent",
			.remedy = "upgrade reeve-agent and reeve together"
		};
		gather_version("reeve-agent", &v[n++]);
		gather_agent(&agent);
		v[n] = (struct judge_version){ .what = "the running agent",
					       .remedy = "systemctl restart reeve-agent" };
		snprintf(v[n].version, sizeof(v[n].version), "%s", agent.version);
		snprintf(v[n].why, sizeof(v[n].why), "%s", agent.why);
		n++;
	}
	if (d->is_controller) {
		v[n] = (struct judge_version){ .what = "the program reeve-controller",
					       .remedy = "upgrade reeve-controller and reeve "
							 "together" };
		gather_version("reeve-controller", &v[n++]);
	}
	v[n] = (struct judge_version){
		.what = "the running controller",
		.remedy = "upgrade the controller first, then nodes, then login machines"
	};
	snprintf(v[n].version, sizeof(v[n].version), "%s", d->about.version);
	if (!*d->about.version)
		snprintf(v[n].why, sizeof(v[n].why), "it did not answer");
	judge_versions(d->report, REEVE_VERSION, v, n + 1);
}

void doctor_rest(struct doctor *d)
{
	const struct gather_job how = { .account = d->job_account,
					.config = d->typed_config,
					.controller = d->link.url };
	struct judge_job job = { .user = d->job_user };

	check_versions(d);
	gather_job(&how, &job);
	judge_job(d->report, &job);
}

struct judge_path doctor_path(enum judge_path_kind kind, const char *path, uint32_t forbidden)
{
	struct judge_path p = { .kind = kind, .forbidden = forbidden, .owner = -1 };

	snprintf(p.path, sizeof(p.path), "%s", path);
	return p;
}
