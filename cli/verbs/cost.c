/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cost.c - `reeve cost`: shows what a request would be charged, and by which rule. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/offline/cost.h"
#include "cli/client/submit/submission.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/wire.h"
#include "controller/policy/charge/tariff.h"

static const struct verb_option options[] = {
	SUBMISSION_RESOURCE_OPTIONS,
	COST_OFFLINE_OPTIONS,
	{ 0 },
};

/* How an amount was read, exactly: "vmem=2GB = 2000000000 bytes". */
static void print_amount(const struct resource_def *d, int64_t v, const char *model, FILE *to)
{
	char text[AMOUNT_TEXT_MAX];

	if (d->kind == RESOURCE_BYTES)
		fprintf(to, "  %s=%s = %" PRId64 " bytes\n", d->name,
			amount_format_bytes_exact(v, text), v);
	else if (d->kind == RESOURCE_SECONDS)
		fprintf(to, "  %s=%s = %" PRId64 " s\n", d->name,
			amount_format_seconds(v, text), v);
	else
		fprintf(to, "  %s=%s%s%" PRId64 "\n", d->name, model, *model ? ":" : "", v);
}

/* With `typed`, only amounts that it does not have: those that the site filled in. */
static void print_amounts(const char *title, const struct resources *res,
			  const struct resources *typed, FILE *to)
{
	int64_t v, before;
	bool is_gpus;
	int n = 0;

	for (const struct resource_def *d = request_resources; d->name; d++) {
		v = *(const int64_t *)(const void *)((const char *)res + d->offset);
		before = typed ? *(const int64_t *)(const void *)((const char *)typed +
								  d->offset)
			       : 0;
		if (!v || v == before)
			continue;
		if (!n++)
			fprintf(to, "%s\n", title);
		is_gpus = d->offset == offsetof(struct resources, ngpus);
		print_amount(d, v, is_gpus ? res->gpu_model : "", to);
	}
	if (*res->node_type && (!typed || !*typed->node_type))
		fprintf(to, "%s  nodetype=%s\n", n++ ? "" : "on\n", res->node_type);
	if (*res->features && (!typed || !*typed->features))
		fprintf(to, "%s  features=%s\n", n++ ? "" : "on\n", res->features);
}

static void print_pair(FILE *to, const char *title, const char *text)
{
	fprintf(to, "%-21s ", title);
	cli_put(to, text ? text : "-");
	fputc('\n', to);
}

/* "2.500 core-equivalent hours (9000 s)": rounded, and exact. */
static void print_charge(FILE *to, const char *title, const json_t *answer, const char *key)
{
	const char *exact = cli_text(answer, key), *unit = cli_text(answer, "unit");
	char ms_key[32], hours[TABLE_CELL_MAX], text[256];

	snprintf(ms_key, sizeof(ms_key), "%s_ms", key);
	if (exact && !json_object_get(answer, ms_key)) {
		snprintf(text, sizeof(text), "%.64s %.48s", exact,
			 unit ? tariff_amount_of(unit) : "units");
		print_pair(to, title, text);
		return;
	}
	snprintf(text, sizeof(text), "%s %.48s (%.64s s)",
		 table_format_cell(CELL_CHARGE_MS, cli_int(answer, ms_key, 0), hours),
		 unit ? tariff_amount_of(unit) : "equivalent hours", exact ? exact : "-");
	print_pair(to, title, exact ? text : NULL);
}

/* Every side of the bundle: requested / per equivalent = ratio; the largest ratio decides. */
static void print_sides(FILE *to, const json_t *sides)
{
	const char *name, *per, *ratio;
	json_t *side;
	size_t i;

	json_array_foreach(sides, i, side)
	{
		name = cli_text(side, "side");
		per = cli_text(side, "per_equivalent");
		ratio = cli_text(side, "ratio");
		fputs("  ", to);
		cli_put(to, name ? name : "?");
		fprintf(to, ": %" PRId64 " / ", cli_int(side, "requested", 0));
		cli_put(to, per ? per : "?");
		fputs(" = ", to);
		cli_put(to, ratio ? ratio : "?");
		fputs(json_is_true(json_object_get(side, "decides")) ? " (decides)\n" : "\n",
		      to);
	}
}

/* Whether quotas would accept the job if it were submitted now. */
static void print_quota(FILE *to, const json_t *answer)
{
	const char *quota = cli_text(answer, "quota"), *note = cli_text(answer, "quota_note");
	char text[512];

	if (!quota)
		return;
	snprintf(text, sizeof(text), "%s%s%.400s",
		 !strcmp(quota, "taken")   ? "would be accepted"
		 : !strcmp(quota, "bonus") ? "would run in the queue without charge"
					   : "would be refused",
		 note ? ": " : "", note ? note : "");
	print_pair(to, "submitted now", text);
}

/* What MB and G mean at the site, and a warning where this command read them otherwise. */
static void print_units(FILE *to, const struct request *r, const json_t *answer)
{
	static const char *const words[_AMOUNT_UNITS_MAX] = {
		[AMOUNT_AS_WRITTEN] = "as written: MB, GB are powers of 1000; M, G, MiB, GiB "
				      "of 1024",
		[AMOUNT_BINARY] = "binary: M, MB, G, GB are powers of 1024 here",
		[AMOUNT_DECIMAL] = "decimal: M, MB, G, GB are powers of 1000 here",
	};
	const char *unit = cli_text(answer, "memory_unit");
	int site = 0;

	while (unit && amount_units_words[site] && strcmp(unit, amount_units_words[site]) != 0)
		site++;
	if (!unit || !amount_units_words[site])
		return;
	print_pair(to, "memory units", words[site]);
	if (site != (int)r->units)
		fprintf(to,
			"%-22sthis command read the request %s; set MemoryUnit = %s in "
			"[Client] of " CLI_CONFIG_SITE "\n",
			"", amount_units_words[r->units], unit);
}

/* Service units and core-hours are amounts, so a rate is "an hour"; equivalents are rates. */
static bool is_by_hour(const json_t *answer)
{
	const char *unit = cli_text(answer, "unit"), *charged = cli_text(answer, "charge_unit");

	return unit && charged && !strcmp(unit, charged);
}

static int show_price(const struct cli *c, const struct request *r, const json_t *answer,
		      struct err *err)
{
	const json_t *filled = json_object_get(answer, "resources");
	const char *rate = cli_text(answer, "rate"), *unit = cli_text(answer, "unit");
	char total[64], text[AMOUNT_TEXT_MAX], rate_text[192];
	struct resources all = r->res;
	FILE *to = c->format.to;

	if (filled && wire_decode_resources(filled, "resources", &all, err) < 0)
		return -EPROTO;
	snprintf(total, sizeof(total), "for walltime %s",
		 amount_format_seconds(all.walltime_s, text));
	if (unit && is_by_hour(answer))
		snprintf(rate_text, sizeof(rate_text), "%.96s %.48s an hour", rate ? rate : "-",
			 tariff_amount_of(unit));
	else
		snprintf(rate_text, sizeof(rate_text), "%.96s %.48s", rate ? rate : "-",
			 unit ? unit : "");
	print_pair(to, "rate", rate_text);
	print_pair(to, "pool", cli_text(answer, "pool"));
	print_charge(to, "an hour of running", answer, "charge_per_hour");
	if (all.walltime_s)
		print_charge(to, total, answer, "charge");
	print_pair(to, "decided by", cli_text(answer, "decided_by"));
	if (cli_text(answer, "rule"))
		print_pair(to, "rule", cli_text(answer, "rule"));
	print_sides(to, json_object_get(answer, "sides"));
	print_quota(to, answer);
	print_units(to, r, answer);
	print_amounts("read as", &r->res, NULL, to);
	print_amounts("filled in by the site", &all, &r->res, to);
	return 0;
}

static int request_price(struct cli *c, const struct request *r, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *body = wire_new();

	if (!body || json_object_set_new(body, "request", wire_encode_request(r)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return cli_ask(c,
		       (struct http_call){ .method = "POST", .path = "/v1/cost", .body = body },
		       ret, err);
}

/* Options that describe nodes are for a profile alone: the controller has the site's nodes. */
static int price_online(struct cli *c, const struct verb_call *call, struct request *r,
			json_t **ret, struct err *err)
{
	static const char *const offline[] = { "node-type", "gpu-model", "nodes" };
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(offline); i++)
		if (verb_count(call, offline[i]))
			return err_set(
				err, -EINVAL,
				"--%s needs --profile; without it the controller uses its own nodes",
				offline[i]);
	rc = cli_begin(c, call, err);
	if (rc == 0)
		rc = submission_read_resources(c, call, r, err);
	return rc < 0 ? rc : request_price(c, r, ret, err);
}

static int price_offline(struct cli *c, const struct verb_call *call, struct request *r,
			 json_t **ret, struct err *err)
{
	int rc = cli_begin_offline(c, call, err);

	return rc < 0 ? rc : cost_offline(c, call, r, ret, err);
}

static int run_cost(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(request_done) struct request r;
	_cleanup_json_ json_t *answer = NULL;
	struct cli *c = ctx;
	int rc;

	request_init(&r);
	if (verb_count(call, "profile"))
		rc = price_offline(c, call, &r, &answer, err);
	else
		rc = price_online(c, call, &r, &answer, err);
	if (rc < 0)
		return rc;
	if (c->format.output != TABLE_TABLE)
		return cli_print_document(c, answer, err);
	return show_price(c, &r, answer, err);
}

const struct verb cli_verb_cost = {
	.name = "cost",
	.args = "[SCRIPT]",
	.help = "Show what a request would be charged, and by which rule",
	.details =
		"Nothing is submitted. The charge is for the whole walltime; a job that ends\n"
		"earlier is charged for the time it ran. --profile needs no controller; then\n"
		"only what decides the price must be stated: ncpus, ngpus, walltime and, where\n"
		"the profile counts memory, mem or vmem.",
	.examples = "reeve cost -l ncpus=2,vmem=10GB,jobfs=1GB,walltime=1:00:00\n"
		    "reeve cost job.sh\n"
		    "reeve cost --profile nci -q express -l ncpus=16,walltime=1:30:00",
	.options = options,
	.max_args = 1,
	.run = run_cost,
};
