/* cost.c - what a request would be charged, and by which rule. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/offline/cost.h"
#include "cli/client/submission.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/wire.h"

static const struct verb_option options[] = {
	SUBMISSION_RESOURCE_OPTIONS,
	COST_OFFLINE_OPTIONS,
	{ 0 },
};

/* How the text was understood, exactly: "vmem=2GB = 2000000000 bytes". */
static void tell_amount(const struct resource_def *d, int64_t v, const char *model, FILE *to)
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

static void tell_amounts(const char *title, const struct resources *res,
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
		tell_amount(d, v, is_gpus ? res->gpu_model : "", to);
	}
	if (*res->node_type && (!typed || !*typed->node_type))
		fprintf(to, "%s  nodetype=%s\n", n++ ? "" : "on\n", res->node_type);
	if (*res->features && (!typed || !*typed->features))
		fprintf(to, "%s  features=%s\n", n++ ? "" : "on\n", res->features);
}

static void tell_pair(FILE *to, const char *title, const char *text)
{
	fprintf(to, "%-22s", title);
	cli_put(to, text ? text : "-");
	fputc('\n', to);
}

/* "2.500 core-equivalent hours (9000 s)": for people, and exactly. */
static void tell_charge(FILE *to, const char *title, const json_t *answer, const char *key)
{
	const char *exact = cli_text(answer, key), *unit = cli_text(answer, "unit");
	char ms_key[32], hours[TABLE_CELL_MAX], text[256];

	snprintf(ms_key, sizeof(ms_key), "%s_ms", key);
	if (exact && !json_object_get(answer, ms_key)) {
		snprintf(text, sizeof(text), "%.64s %.48ss", exact, unit ? unit : "unit");
		tell_pair(to, title, text);
		return;
	}
	snprintf(text, sizeof(text), "%s %.48s hours (%.64s s)",
		 table_format_cell(CELL_CHARGE_MS, cli_int(answer, ms_key, 0), hours),
		 unit ? unit : "equivalent", exact ? exact : "-");
	tell_pair(to, title, exact ? text : NULL);
}

/* Every side of the bundle: what is asked of it, what one equivalent has, and which is largest.
 */
static void tell_sides(FILE *to, const json_t *sides)
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

/* What quotas would do with the job if it were submitted now. */
static void tell_quota(FILE *to, const json_t *answer)
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
	tell_pair(to, "submitted now", text);
}

/* What the site means by MB and G, and whether this command read them so. */
static void tell_units(FILE *to, const struct request *r, const json_t *answer)
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
	tell_pair(to, "memory units", words[site]);
	if (site != (int)r->units)
		fprintf(to,
			"%-22sthis command read the request %s; set MemoryUnit = %s in "
			"[Client] of " CLI_CONFIG_SITE "\n",
			"", amount_units_words[r->units], unit);
}

/* Service units and core-hours are of hours; equivalents are a rate by themselves. */
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
	snprintf(rate_text, sizeof(rate_text), "%.96s %.48s%s", rate ? rate : "-",
		 unit ? unit : "", is_by_hour(answer) ? "s an hour" : "");
	tell_pair(to, "rate", rate_text);
	tell_pair(to, "pool", cli_text(answer, "pool"));
	tell_charge(to, "an hour of running", answer, "charge_per_hour");
	if (all.walltime_s)
		tell_charge(to, total, answer, "charge");
	tell_pair(to, "decided by", cli_text(answer, "decided_by"));
	if (cli_text(answer, "rule"))
		tell_pair(to, "rule", cli_text(answer, "rule"));
	tell_sides(to, json_object_get(answer, "sides"));
	tell_quota(to, answer);
	tell_units(to, r, answer);
	tell_amounts("read as", &r->res, NULL, to);
	tell_amounts("filled in by the site", &all, &r->res, to);
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

static int quote_online(struct cli *c, const struct verb_call *call, struct request *r,
			json_t **ret, struct err *err)
{
	static const char *const offline[] = { "node-type", "gpu-model", "nodes" };
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(offline); i++)
		if (verb_count(call, offline[i]))
			return err_set(err, -EINVAL,
				       "--%s needs --profile: the controller knows its nodes",
				       offline[i]);
	rc = cli_begin(c, call, err);
	if (rc == 0)
		rc = submission_read_resources(c, call, r, err);
	return rc < 0 ? rc : request_price(c, r, ret, err);
}

static int quote_offline(struct cli *c, const struct verb_call *call, struct request *r,
			 json_t **ret, struct err *err)
{
	int rc = cli_begin_offline(c, call, err);

	return rc < 0 ? rc : cost_offline(c, call, r, ret, err);
}

static int cost(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(request_done) struct request r;
	_cleanup_json_ json_t *answer = NULL;
	struct cli *c = ctx;
	int rc;

	request_init(&r);
	if (verb_count(call, "profile"))
		rc = quote_offline(c, call, &r, &answer, err);
	else
		rc = quote_online(c, call, &r, &answer, err);
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
		"earlier is charged for the time it ran. With --profile no controller is\n"
		"needed, and only what decides the price must be stated: ncpus and, where the\n"
		"profile counts memory, mem or vmem; ngpus and walltime.",
	.examples = "reeve cost -l ncpus=2,vmem=10GB,jobfs=1GB,walltime=1:00:00\n"
		    "reeve cost job.sh\n"
		    "reeve cost --profile nci -q express -l ncpus=16,walltime=1:30:00",
	.options = options,
	.max_args = 1,
	.run = cost,
};
