/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacctmgr_options.c - applies each option of a dump to the draft; see foreign/sacctmgr.h. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "common/nearest.h"
#include "controller/accounts/foreign/sacctmgr_impl.h"

const char *const sacctmgr_kind_names[] = { "Cluster", "Parent", "Account", "User", "QOS" };

/* ---- notes ---- */

static const char why_organization[] = "Reeve keeps no organizations";
const char sacctmgr_why_qos[] =
	"a QOS is a [Qos NAME] section of controller.conf: write it there";
static const char why_qos_name[] = "it is not a name for Reeve: 1 to 63 of letters, digits and "
				   ". _ + -, and no sign at its head";
static const char why_job[] = "a bound of one job: write MaxWalltime, MaxCores, MaxGpus or "
			      "MaxMemory of it";
static const char why_grant[] = "budgets are allocations: write an [Allocation]";
static const char why_run_mins[] = "Reeve has no limit on the work that running jobs have left";
static const char why_nodes[] = "Reeve has no limit on nodes, burst buffers, licenses or "
				"single models";
static const char why_age[] = "Reeve does not limit how many jobs age";
static const char why_priority[] = "accounts have no priority of their own; set Shares";
static const char why_wckey[] = "Reeve has no WCKeys";
static const char why_cluster[] = "Reeve's root has no shares or limits of all jobs together";
static const char why_submit[] = "taken as MaxQueuedJobs, which does not count running jobs";
static const char why_admin[] = "name operators in controller.conf (Operators =)";
const char sacctmgr_why_root[] = "Reeve's root has no users and no keys";
static const char why_partition[] = "taken as the user in the account, for all queues";
const char sacctmgr_why_cluster_name[] =
	"accounts count on all clusters unless Clusters = says where";
static const char why_other[] = "it has no meaning in Reeve";

int sacctmgr_note(struct sacctmgr_reader *r, const char *what, const char *why)
{
	char text[96];

	snprintf(text, sizeof(text), "%s %s", sacctmgr_kind_names[r->now.kind], what);
	return accounts_draft_note(r->d, r->now.line, text, why) < 0
		       ? err_set(r->err, -ENOMEM, "out of memory")
		       : 0;
}

/* ---- options ---- */

/* Slurm keeps names of accounts in small letters. */
void sacctmgr_lower_account(char *name)
{
	for (; *name; name++)
		*name = (char)tolower((unsigned char)*name);
}

static int bad_value(struct sacctmgr_reader *r, const char *key, const char *value,
		     const char *wanted)
{
	return accounts_draft_error(r->d, r->now.line, r->err, "%s=%.60s: it is %s", key, value,
				    wanted);
}

/* A number; -1 means no limit, as in sacctmgr. */
static int read_count(struct sacctmgr_reader *r, const char *key, const char *value,
		      int64_t *ret)
{
	int64_t n = 0;

	if (!strcmp(value, "-1")) {
		*ret = ACCOUNTS_NO_LIMIT;
		return 0;
	}
	if (!isdigit((unsigned char)*value) || amount_parse_count(value, &n, NULL) < 0 ||
	    n > 1000000000000LL)
		return bad_value(r, key, value, "a number, or -1 for none");
	*ret = n;
	return 0;
}

/* MiB, or with one of K, M, G, T, P. */
static int read_memory(struct sacctmgr_reader *r, const char *value, int64_t *ret)
{
	static const char letters[] = "KMGTP";
	size_t n = strlen(value);
	const char *unit = n ? strchr(letters, toupper((unsigned char)value[n - 1])) : NULL;
	char digits[32];
	int64_t count;
	int shift = unit && *unit ? 10 * (int)(1 + unit - letters) : 20;

	n -= unit && *unit;
	if (n == 0 || n >= sizeof(digits))
		return bad_value(r, "mem", value, "a number of MiB, or 100G");
	memcpy(digits, value, n);
	digits[n] = '\0';
	if (!isdigit((unsigned char)*digits) || amount_parse_count(digits, &count, NULL) < 0 ||
	    count > INT64_MAX >> shift)
		return bad_value(r, "mem", value, "a number of MiB, or 100G");
	*ret = count << shift;
	return 0;
}

static int set_tres(struct sacctmgr_reader *r, const char *key, const char *tres,
		    const char *value)
{
	char what[96];

	if (!strcasecmp(tres, "cpu"))
		return read_count(r, key, value, &r->limits->running_cores);
	if (!strcasecmp(tres, "gres/gpu"))
		return read_count(r, key, value, &r->limits->running_gpus);
	if (!strcasecmp(tres, "mem") && !strcmp(value, "-1")) {
		r->limits->running_memory_bytes = ACCOUNTS_NO_LIMIT;
		return 0;
	}
	if (!strcasecmp(tres, "mem"))
		return read_memory(r, value, &r->limits->running_memory_bytes);
	snprintf(what, sizeof(what), "%s=%.40s", key, tres);
	return sacctmgr_note(r, what, why_nodes);
}

static int set_grp_tres(struct sacctmgr_reader *r, const char *key, char *value)
{
	char *item, *equals;
	int result = 0;

	if (!r->limits)
		return sacctmgr_note(r, key, why_cluster);
	while (result == 0 && (item = strsep(&value, ","))) {
		equals = strchr(item, '=');
		if (!equals || equals == item)
			return bad_value(r, key, item, "TRES=N,TRES=N");
		*equals = '\0';
		result = set_tres(r, key, item, equals + 1);
	}
	return result;
}

static int set_grp_jobs(struct sacctmgr_reader *r, const char *key, char *value)
{
	int64_t n;
	int result;

	if (!r->limits)
		return sacctmgr_note(r, key, why_cluster);
	result = read_count(r, key, value, &n);
	/* For one user's association GrpJobs and MaxJobs are the same limit: the lower one
	 * holds. */
	if (result == 0 && n != ACCOUNTS_NO_LIMIT &&
	    (r->limits->running_jobs == ACCOUNTS_NO_LIMIT || n < r->limits->running_jobs))
		r->limits->running_jobs = n;
	return result;
}

static int set_grp_submit(struct sacctmgr_reader *r, const char *key, char *value)
{
	int64_t n;
	int result;

	if (!r->limits)
		return sacctmgr_note(r, key, why_cluster);
	result = read_count(r, key, value, &n);
	if (result < 0 || n == ACCOUNTS_NO_LIMIT)
		return result;
	if (r->limits->queued_jobs == ACCOUNTS_NO_LIMIT || n < r->limits->queued_jobs)
		r->limits->queued_jobs = n;
	return sacctmgr_note(r, key, why_submit);
}

typedef int (*set_option_fn)(struct sacctmgr_reader *r, const char *key, char *value);

/* A Max... option is the Grp... option of each user of the record, instead of the record as a
 * group. */
static int set_for_each(struct sacctmgr_reader *r, const char *key, char *value,
			set_option_fn set)
{
	struct accounts_limits *own = r->limits;
	int result;

	r->limits = r->of_each;
	result = set(r, key, value);
	r->limits = own;
	return result;
}

static int set_max_jobs(struct sacctmgr_reader *r, const char *key, char *value)
{
	return set_for_each(r, key, value, set_grp_jobs);
}

static int set_max_submit(struct sacctmgr_reader *r, const char *key, char *value)
{
	return set_for_each(r, key, value, set_grp_submit);
}

static int set_shares(struct sacctmgr_reader *r, const char *key, char *value)
{
	struct err why = { "" };
	int64_t n;

	if (accounts_draft_shares(value, &n, &why) < 0)
		return accounts_draft_error(r->d, r->now.line, r->err, "%s=%.40s: %.200s", key,
					    value, why.text);
	if (r->account)
		r->account->shares = n;
	else if (r->member)
		r->member->shares = n;
	else
		return sacctmgr_note(r, key, why_cluster);
	return 0;
}

static int set_description(struct sacctmgr_reader *r, const char *key, char *value)
{
	size_t n = strlen(value);

	if (!r->account)
		return sacctmgr_note(r, key, why_other);
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)value[i]))
			return bad_value(r, key, value, "a text without control characters");
	while (n && (isspace((unsigned char)value[n - 1]) || value[n - 1] == '\\'))
		value[--n] = '\0';
	value += strspn(value, " ");
	free(r->account->description);
	r->account->description = strdup(value);
	return r->account->description ? 0 : err_set(r->err, -ENOMEM, "out of memory");
}

/* A member with this role in the account; made without being a user of it. */
int sacctmgr_find_role(struct sacctmgr_reader *r, const char *account,
		       struct draft_member **ret)
{
	struct draft_member like = { .line = r->now.line };

	snprintf(like.account, sizeof(like.account), "%s", account);
	snprintf(like.user, sizeof(like.user), "%s", r->now.name);
	return accounts_draft_add_member(r->d, &like, ret, r->err);
}

static int set_default(struct sacctmgr_reader *r, const char *key, char *value)
{
	struct draft_member *m;
	int result;

	sacctmgr_lower_account(value);
	if (!r->member || !strcmp(value, ACCOUNTS_ROOT))
		return sacctmgr_note(r, key, sacctmgr_why_root);
	if (!request_is_name(value))
		return bad_value(r, key, value, "the name of an account");
	result = sacctmgr_find_role(r, value, &m);
	if (result == 0)
		m->is_default = true;
	return result;
}

static int set_coordinator(struct sacctmgr_reader *r, const char *key, char *value)
{
	struct draft_member *m;
	char *account;
	int result = 0;

	if (!r->member)
		return sacctmgr_note(r, key, sacctmgr_why_root);
	sacctmgr_lower_account(value);
	while (result == 0 && (account = strsep(&value, ","))) {
		if (!request_is_name(account))
			return bad_value(r, key, account, "a list of names of accounts");
		result = sacctmgr_find_role(r, account, &m);
		if (result == 0)
			m->is_coordinator = true;
	}
	return result;
}

static struct draft_qos *qos_of(struct sacctmgr_reader *r)
{
	if (r->account)
		return &r->account->qos;
	if (r->member)
		return &r->member->qos;
	return r->now.kind == KIND_CLUSTER ? &r->d->qos : NULL;
}

static bool is_qos_name(const char *name)
{
	return request_is_name(name) && *name != '+' && *name != '-';
}

/* "a,b" or, of what stands above, "+a,-b"; the whole option may be of one sign: QOS+=a,b. */
static int set_qos(struct sacctmgr_reader *r, const char *key, char *value)
{
	struct draft_qos *q = qos_of(r);
	char *item, what[96];
	int result = 0;

	if (!q)
		return sacctmgr_note(r, key, sacctmgr_why_root);
	while (result == 0 && (item = strsep(&value, ","))) {
		char sign = *item == '+' || *item == '-' ? *item++ : r->sign;

		snprintf(what, sizeof(what), "%s=%.60s", key, item);
		if (*item && !is_qos_name(item))
			result = sacctmgr_note(r, what, why_qos_name);
		else if (*item && accounts_draft_state_qos(r->d, q, sign, item) < 0)
			result = err_set(r->err, -ENOMEM, "out of memory");
	}
	return result;
}

static int set_default_qos(struct sacctmgr_reader *r, const char *key, char *value)
{
	struct draft_qos *q = qos_of(r);
	char what[96];

	if (!q)
		return sacctmgr_note(r, key, sacctmgr_why_root);
	snprintf(what, sizeof(what), "%s=%.60s", key, value);
	if (!is_qos_name(value))
		return sacctmgr_note(r, what, why_qos_name);
	snprintf(q->by_default, sizeof(q->by_default), "%s", value);
	r->d->states_qos = true;
	return 0;
}

static int set_admin(struct sacctmgr_reader *r, const char *key, char *value)
{
	char what[96];

	if (!strcasecmp(value, "None") || !strcasecmp(value, "Not Set"))
		return 0;
	snprintf(what, sizeof(what), "%s=%.40s", key, value);
	return sacctmgr_note(r, what, why_admin);
}

static const struct option {
	const char *name;
	set_option_fn set;
	const char *why; /* without `set`: the reason that it is only noted */
} options[] = {
	{ "Fairshare", set_shares, NULL },
	{ "Shares", set_shares, NULL },
	{ "Description", set_description, NULL },
	{ "GrpTRES", set_grp_tres, NULL },
	{ "GrpJobs", set_grp_jobs, NULL },
	{ "GrpSubmitJobs", set_grp_submit, NULL },
	{ "GrpSubmit", set_grp_submit, NULL },
	{ "MaxJobs", set_max_jobs, NULL },
	{ "MaxSubmitJobs", set_max_submit, NULL },
	{ "MaxSubmit", set_max_submit, NULL },
	{ "DefaultAccount", set_default, NULL },
	{ "Coordinator", set_coordinator, NULL },
	{ "AdminLevel", set_admin, NULL },
	{ "Partition", NULL, why_partition },
	{ "Organization", NULL, why_organization },
	{ "QOS", set_qos, NULL },
	{ "QOSLevel", set_qos, NULL },
	{ "DefaultQOS", set_default_qos, NULL },
	{ "GrpTRESMins", NULL, why_grant },
	{ "GrpCPUMins", NULL, why_grant },
	{ "GrpWall", NULL, why_grant },
	{ "GrpWallDuration", NULL, why_grant },
	{ "GrpTRESRunMins", NULL, why_run_mins },
	{ "GrpCPURunMins", NULL, why_run_mins },
	{ "MaxTRESRunMins", NULL, why_run_mins },
	{ "GrpNodes", NULL, why_nodes },
	{ "GrpJobsAccrue", NULL, why_age },
	{ "MaxJobsAccrue", NULL, why_age },
	{ "MaxTRES", NULL, why_job },
	{ "MaxTRESPerJob", NULL, why_job },
	{ "MaxTRESPerNode", NULL, why_job },
	{ "MaxTRESMins", NULL, why_job },
	{ "MaxTRESMinsPerJob", NULL, why_job },
	{ "MaxCPUs", NULL, why_job },
	{ "MaxCPUsPerJob", NULL, why_job },
	{ "MaxCPUMins", NULL, why_job },
	{ "MaxNodes", NULL, why_job },
	{ "MaxNodesPerJob", NULL, why_job },
	{ "MaxWall", NULL, why_job },
	{ "MaxWallDuration", NULL, why_job },
	{ "MaxWallDurationPerJob", NULL, why_job },
	{ "Priority", NULL, why_priority },
	{ "DefaultWCKey", NULL, why_wckey },
	{ "WCKeys", NULL, why_wckey },
	{ "Classification", NULL, why_other },
	{ "Comment", NULL, why_other },
	{ "Flags", NULL, why_other },
};

/* Options of Slurm before TRES: the same as GrpTRES=cpu=N. */
static const struct {
	const char *name, *tres;
} old_options[] = { { "GrpCPUs", "cpu" }, { "GrpMem", "mem" } };

static int unknown_option(struct sacctmgr_reader *r, const char *key)
{
	struct nearest near;

	nearest_init(&near, key);
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		nearest_offer(&near, options[i].name);
	return nearest_word(&near)
		       ? accounts_draft_error(
				 r->d, r->now.line, r->err,
				 "sacctmgr has no option '%.60s'; did you mean '%s'?", key,
				 nearest_word(&near))
		       : accounts_draft_error(r->d, r->now.line, r->err,
					      "sacctmgr has no option '%.60s'", key);
}

int sacctmgr_set_option(struct sacctmgr_reader *r, char *key, char *value)
{
	size_t n = strlen(key);

	r->sign = '\0';
	if (n && strchr("+-", key[n - 1])) {
		r->sign = key[n - 1];
		key[n - 1] = '\0';
	}
	if (r->now.kind == KIND_QOS)
		return 0; /* the whole line is noted */
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		if (strcasecmp(options[i].name, key) != 0)
			continue;
		if (!*value) /* sacctmgr passes over it too */
			return 0;
		return options[i].set ? options[i].set(r, options[i].name, value)
				      : sacctmgr_note(r, options[i].name, options[i].why);
	}
	for (size_t i = 0; i < ARRAY_LEN(old_options); i++)
		if (!strcasecmp(old_options[i].name, key))
			return r->limits ? set_tres(r, old_options[i].name, old_options[i].tres,
						    value)
					 : sacctmgr_note(r, old_options[i].name, why_cluster);
	return unknown_option(r, key);
}

bool sacctmgr_is_option(const char *text)
{
	size_t n = strcspn(text, "=:+-'\"");

	if (text[n] != '=' && !(text[n] && strchr("+-", text[n]) && text[n + 1] == '='))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (strlen(options[i].name) == n && !strncasecmp(options[i].name, text, n))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(old_options); i++)
		if (strlen(old_options[i].name) == n &&
		    !strncasecmp(old_options[i].name, text, n))
			return true;
	return false;
}
