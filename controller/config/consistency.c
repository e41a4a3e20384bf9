/* SPDX-License-Identifier: GPL-2.0-or-later */
/* consistency.c - checks that sections and keys agree with each other; see config_impl.h.
 *
 * Keys that are checked against each other are of one kind, CONF_LIVE or CONF_RESTART: a reload takes over
 * all of them or none, so that what is in force agrees too. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "common/err.h"
#include "controller/config/config_impl.h"

#define HEADER_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

struct cross {
	const struct config *c;
	const struct config_faults *to;
	int n;
};

/* Reports a fault of the object's key (NULL: of its section). */
__attribute__((format(printf, 4, 5))) static void
report_fault(struct cross *x, const void *object, const char *key, const char *fmt, ...)
{
	struct conf_fault fault = config_place(x->c, object, key);
	struct err why = { "" };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why.text, sizeof(why.text), fmt, ap);
	va_end(ap);
	if (fault.line)
		err_prefix(&why, 0, "%s, line %d", fault.file, fault.line);
	else if (*fault.file)
		err_prefix(&why, 0, "%s", fault.file);
	fault.text = why.text;
	x->to->tell(x->to->ctx, &fault);
	x->n++;
}

static bool has_side(const struct charge_bundle *b)
{
	for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
		if (b->side[s].num)
			return true;
	return false;
}

static void check_clusters(struct cross *x)
{
	for (size_t i = 0; i < x->c->n_clusters; i++) {
		const struct config_cluster *cl = x->c->clusters[i];

		if (*cl->max.node_type || *cl->max.features)
			report_fault(
				x, cl, "MaxResources",
				"[Cluster %s] nodetype and features are no amounts: they have no "
				"upper bound; name them in DefaultResources",
				cl->name);
		if (cl->unit == TARIFF_EQUIVALENTS && !has_side(&cl->bundle[CHARGE_POOL_CPU]))
			report_fault(
				x, cl, "BundleCores",
				"[Cluster %s] its core-equivalent has neither cores nor memory",
				cl->name);
	}
}

static void check_nodes(struct cross *x)
{
	for (size_t i = 0; i < x->c->n_nodes; i++) {
		const struct config_node *n = x->c->nodes[i];

		if (!config_cluster(x->c, n->cluster))
			report_fault(x, n, "Cluster", "[Node %s] Cluster=%s: no such cluster",
				     n->name, n->cluster);
	}
}

/* A GresName is not the name of another model that nodes of the cluster have: a request by it would be
 * either. */
static void check_gres_names(struct cross *x, const struct config_node_type *t)
{
	size_t n = strcspn(t->name, "/") + 1;
	char name[REQUEST_NAME_MAX];

	for (const char *list = t->gres_names; list && (list = config_next_name(list, name));)
		for (size_t i = 0; i < x->c->n_node_types; i++) {
			const struct config_node_type *other = x->c->node_types[i];

			if (!strncmp(other->name, t->name, n) &&
			    !strcasecmp(other->gpu_model, name) &&
			    strcasecmp(t->gpu_model, name) != 0)
				report_fault(
					x, t, "GresName",
					"[NodeType %s] GresName=%s: this is the GpuModel of "
					"[NodeType %s]",
					t->name, name, other->name);
		}
}

static void check_node_types(struct cross *x)
{
	char cluster[REQUEST_NAME_MAX];

	for (size_t i = 0; i < x->c->n_node_types; i++) {
		const struct config_node_type *t = x->c->node_types[i];

		snprintf(cluster, sizeof(cluster), "%.*s", (int)strcspn(t->name, "/"), t->name);
		if (!config_cluster(x->c, cluster))
			report_fault(x, t, NULL, "[NodeType %s] there is no [Cluster %s]",
				     t->name, cluster);
		if (*t->gpu_model && !config_gpu_model(x->c, t->gpu_model))
			report_fault(x, t, "GpuModel",
				     "[NodeType %s] GpuModel=%s: there is no [GpuModel %s]",
				     t->name, t->gpu_model, t->gpu_model);
		if (t->gres_names && !*t->gpu_model)
			report_fault(
				x, t, "GresName",
				"[NodeType %s] GresName= without GpuModel=: state the model "
				"that has these names",
				t->name);
		check_gres_names(x, t);
	}
}

static bool knows_cores(const struct config *c, const struct config_cluster *cl)
{
	size_t n = strlen(cl->name);

	for (size_t i = 0; i < c->n_node_types; i++)
		if (!strncmp(c->node_types[i]->name, cl->name, n) &&
		    c->node_types[i]->name[n] == '/' && c->node_types[i]->cores_per_node)
			return true;
	return cl->cores_per_node > 0;
}

#define QUEUES_MAX 32 /* the scheduler's, in the preempting cycle */

static void check_queues(struct cross *x)
{
	if (x->c->policy.scheduler == CONFIG_SCHEDULER_SUSPEND && x->c->n_queues > QUEUES_MAX)
		report_fault(
			x, &x->c->policy, "Scheduler",
			"Scheduler=suspend knows %d queues, and there are %zu [Queue] sections",
			QUEUES_MAX, x->c->n_queues);
	for (size_t i = 0; i < x->c->n_queues; i++) {
		const struct config_queue *q = x->c->queues[i];
		size_t n = 0;

		for (size_t k = 0; k < x->c->n_clusters; k++) {
			const struct config_cluster *cl = x->c->clusters[k];

			if (!config_has_queue(cl, q->name))
				continue;
			n++;
			if (q->exclusive && !knows_cores(x->c, cl))
				report_fault(
					x, q, "Exclusive",
					"[Queue %s] holds whole nodes, but [Cluster %s] does not "
					"say CoresPerNode=",
					q->name, cl->name);
		}
		if (n == 0)
			report_fault(x, q, NULL,
				     "[Queue %s] is in no cluster's Queues=", q->name);
	}
}

static void check_policy(struct cross *x)
{
	const struct config_policy *p = &x->c->policy;

	if (p->rename && !p->profile)
		report_fault(
			x, x->c, "RenameClusters",
			"[Policy] RenameClusters= without Profile=: rename your own [Cluster] "
			"sections");
}

/* A default that does not exist would refuse every job that names no QOS. */
static void check_default_qos(struct cross *x)
{
	const char *name = x->c->policy.default_qos;
	const struct config_qos *qos;
	struct err why = { "" };

	if (!*name || config_find_qos(x->c, name, &qos, &why) == 0)
		return;
	report_fault(
		x, x->c, "DefaultQos",
		"[Policy] DefaultQos = %s: %s; add a [Qos %s] section, or name one that exists",
		name, why.text, name);
}

/* A socket that any process may use would let it read the pages of every user. */
static void check_web(struct cross *x)
{
	const struct config *c = x->c;

	if (c->web_socket && !c->web_socket_user)
		report_fault(x, c, "WebSocket",
			     "[Controller] WebSocket= without WebSocketUser=: name the user of "
			     "the proxy, whose word the pages take for who their reader is");
	if (c->web_socket_user && !c->web_socket)
		report_fault(x, c, "WebSocketUser",
			     "[Controller] WebSocketUser= without WebSocket=");
	if (c->web_socket && !c->web)
		report_fault(
			x, c, "WebSocket",
			"[Controller] WebSocket= with Web = no: there are no pages to serve");
	if (c->web_user_header[strspn(c->web_user_header, HEADER_LETTERS)] ||
	    !*c->web_user_header)
		report_fault(x, c, "WebUserHeader",
			     "[Controller] WebUserHeader = %s: a header's name has letters, "
			     "digits and '-' alone",
			     c->web_user_header);
}

static void check_certificate(struct cross *x)
{
	const struct config *c = x->c;

	if (c->certificate && !c->certificate_key)
		report_fault(
			x, c, "Certificate",
			"[Controller] Certificate = %.200s without CertificateKey=: name the "
			"file with its key",
			c->certificate);
	if (c->certificate_key && !c->certificate)
		report_fault(
			x, c, "CertificateKey",
			"[Controller] CertificateKey = %.200s without Certificate=: name the "
			"file with the certificate",
			c->certificate_key);
	if (c->client_certificates && !c->certificate)
		report_fault(
			x, c, "ClientCertificates",
			"[Controller] ClientCertificates = %.200s without Certificate=: only "
			"https has certificates",
			c->client_certificates);
	if (!c->require_client_certificate && !c->client_certificates)
		report_fault(x, c, "RequireClientCertificate",
			     "[Controller] RequireClientCertificate = no without "
			     "ClientCertificates=: no client is asked for a certificate");
}

static void check_hooks(struct cross *x)
{
	const struct config_hooks *h = &x->c->hooks;

	if (h->events && !h->program)
		report_fault(x, x->c, "Events",
			     "[Hooks] Events= without Program=: no program would run for them");
}

int config_check_all(const struct config *c, const struct config_faults *to)
{
	struct cross x = { c, to, 0 };

	check_clusters(&x);
	check_nodes(&x);
	check_node_types(&x);
	check_queues(&x);
	check_policy(&x);
	check_default_qos(&x);
	check_web(&x);
	check_certificate(&x);
	check_hooks(&x);
	return x.n;
}
