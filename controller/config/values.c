/* SPDX-License-Identifier: GPL-2.0-or-later */
/* values.c - checks and parses the value of one key, beyond its type; see config_impl.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/config/config_impl.h"

#define ZONES "/usr/share/zoneinfo"

/* ---- lists of names ---- */

static int check_names(void *object, const char *list, struct err *err)
{
	char name[REQUEST_NAME_MAX];

	(void)object;
	while (*list) {
		size_t n = strcspn(list, ",");
		size_t left = strspn(list, " \t"), right = n;

		while (right > left && strchr(" \t", list[right - 1]))
			right--;
		if (left >= right || right - left >= sizeof(name))
			return err_set(err, -EINVAL, "an empty or too long name in the list");
		memcpy(name, list + left, right - left);
		name[right - left] = '\0';
		if (!request_is_name(name))
			return err_set(err, -EINVAL, "'%s' is not a name", name);
		list += n + (list[n] == ',');
	}
	return 0;
}

static int check_once(void *object, const char *list, struct err *err)
{
	char name[REQUEST_NAME_MAX], other[REQUEST_NAME_MAX];
	int r = check_names(object, list, err);

	while (r == 0 && (list = config_next_name(list, name)))
		for (const char *rest = list; r == 0 && (rest = config_next_name(rest, other));)
			if (!strcmp(name, other))
				r = err_set(err, -EINVAL, "'%s' is named twice; keep one",
					    name);
	return r;
}

/* ---- bundles ---- */

static const struct {
	const char *key;
	enum charge_pool pool;
	enum charge_side side;
} sides[] = {
	{ "BundleCores", CHARGE_POOL_CPU, CHARGE_CORES },
	{ "BundleMemory", CHARGE_POOL_CPU, CHARGE_MEMORY },
	{ "GpuBundleGpus", CHARGE_POOL_GPU, CHARGE_GPUS },
	{ "GpuBundleCores", CHARGE_POOL_GPU, CHARGE_CORES },
	{ "GpuBundleMemory", CHARGE_POOL_GPU, CHARGE_MEMORY },
};

static int parse_side(enum charge_side side, const char *text, struct fraction *ret,
		      struct err *err)
{
	struct fraction f = { 0, 1 };
	int r;

	if (!strcmp(text, "none")) {
		*ret = f;
		return 0;
	}
	if (side == CHARGE_MEMORY)
		r = config_parse_memory(text, AMOUNT_AS_WRITTEN, &f, err);
	else
		r = fraction_parse_or_zero(text, &f, err);
	if (r == 0 && f.num == 0)
		return err_set(err, -EINVAL,
			       "a bundle of zero %s has no price; state how much one "
			       "equivalent has, or none where this side does not count",
			       charge_side_name(side));
	if (r == 0)
		*ret = f;
	return r;
}

static int check_bundle(const char *key, const char *value,
			struct charge_bundle bundle[_CHARGE_POOL_MAX], struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(sides); i++)
		if (!strcmp(sides[i].key, key))
			return parse_side(sides[i].side, value,
					  &bundle[sides[i].pool].side[sides[i].side], err);
	return 0;
}

/* ---- the policy ---- */

static int check_zone(void *object, const char *name, struct err *err)
{
	char path[256], magic[4] = "";
	_cleanup_close_ int fd = -1;

	(void)object;
	if (*name != '/' && !strstr(name, "..") &&
	    snprintf(path, sizeof(path), ZONES "/%s", name) < (int)sizeof(path))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	    !memcmp(magic, "TZif", sizeof(magic)))
		return 0;
	return err_set(err, -EINVAL,
		       "'%.64s' is not a time zone in " ZONES "; write it like Europe/Berlin",
		       name);
}

static int check_year_start(void *object, const char *value, struct err *err)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	struct config_policy *p = &((struct config *)object)->policy;
	int month = 0, day = 0, end = 0;

	if (sscanf(value, "%2d-%2d%n", &month, &day, &end) != 2 || end != 5 || value[end] ||
	    month < 1 || month > 12 || day < 1 || day > days[month - 1])
		return err_set(err, -EINVAL,
			       "'%.20s' is not a month and a day of every year; write it like "
			       "04-01",
			       value);
	p->year_start_month = month;
	p->year_start_day = day;
	return 0;
}

static int check_policy_tres(void *object, const char *value, struct err *err)
{
	return config_parse_weights(value, &((struct config *)object)->policy.weights, err);
}

static int check_cluster_tres(void *object, const char *value, struct err *err)
{
	return config_parse_weights(value, &((struct config_cluster *)object)->weights, err);
}

static int check_queue_tres(void *object, const char *value, struct err *err)
{
	return config_parse_weights(value, &((struct config_queue *)object)->weights, err);
}

static int check_defaults(void *object, const char *value, struct err *err)
{
	return config_parse_resources(value, ((struct config_cluster *)object)->defaults_in,
				      err);
}

static int check_max(void *object, const char *value, struct err *err)
{
	return config_parse_resources(value, ((struct config_cluster *)object)->max_in, err);
}

/* ---- the ledger ---- */

/* Refuses a password in the database's URL: controller.conf is readable by more users than the
 * ledger. */
static int check_database(void *object, const char *value, struct err *err)
{
	const char *user = strstr(value, "://"), *end = user ? strpbrk(user + 3, "@/?") : NULL;
	const char *colon = user ? strchr(user + 3, ':') : NULL;
	bool in_user = end && *end == '@' && colon && colon < end;

	(void)object;
	if (!user || (!in_user && !strstr(value, "password=")))
		return 0;
	return err_set(err, -EINVAL,
		       "a password does not belong in this file: put it into ~/.pgpass of the "
		       "user reeve-controller runs as");
}

/* ---- all ---- */

static int check_weight(void *object, const char *value, struct err *err)
{
	return fraction_parse(value, &((struct config_gpu_model *)object)->weight, err);
}

static int check_factor(void *object, const char *value, struct err *err)
{
	return fraction_parse_or_zero(value, &((struct config_queue *)object)->factor, err);
}

static int check_qos_factor(void *object, const char *value, struct err *err)
{
	return fraction_parse_or_zero(value, &((struct config_qos *)object)->factor, err);
}

static const struct {
	const char *section, *key;
	int (*check)(void *object, const char *value, struct err *err);
} checks[] = {
	{ "Controller", "Operators", check_names },
	{ "Controller", "Database", check_database },
	{ "Controller", "MetricsToken", config_check_token },
	{ "Controller", "Certificate", config_check_certificate },
	{ "Controller", "CertificateKey", config_check_key },
	{ "Controller", "ClientCertificates", config_check_certificate },
	{ "Cluster", "Queues", check_names },
	{ "NodeType", "GresName", check_once },
	{ "Account", "Users", check_once },
	{ "Account", "Clusters", check_once },
	{ "GpuModel", "Weight", check_weight },
	{ "Queue", "Factor", check_factor },
	{ "Qos", "Factor", check_qos_factor },
	{ "Qos", "AllowAccounts", check_once },
	{ "Qos", "AllowUsers", check_once },
	{ "Policy", "RenameClusters", config_check_rename },
	{ "Policy", "TimeZone", check_zone },
	{ "Policy", "AllocationYearStart", check_year_start },
	{ "Policy", "TresWeights", check_policy_tres },
	{ "Cluster", "TresWeights", check_cluster_tres },
	{ "Queue", "TresWeights", check_queue_tres },
	{ "Cluster", "DefaultResources", check_defaults },
	{ "Cluster", "MaxResources", check_max },
	{ "Hooks", "Events", config_check_events },
	{ "Hooks", "AllocationPercents", config_check_percents },
	{ "Hooks", "Program", config_check_hook },
};

static int check_statement(const struct conf_place *p, struct err *err)
{
	const char *section = p->key->section, *key = p->key->key;

	if (!strcmp(section, "Cluster")) {
		int r = check_bundle(key, p->value,
				     ((struct config_cluster *)p->object)->bundle, err);

		if (r < 0)
			return r;
	}
	if (!strcmp(section, "NodeType")) {
		int r = check_bundle(key, p->value,
				     ((struct config_node_type *)p->object)->bundle, err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		if (!strcmp(checks[i].section, section) && !strcmp(checks[i].key, key))
			return checks[i].check(p->object, p->value, err);
	return 0;
}

int config_check_value(const struct conf_place *p, struct err *err)
{
	int r = p->key ? check_statement(p, err) : 0;

	if (r < 0 && !strcmp(p->key->key, "Database")) /* it may hold a password */
		return err_prefix(err, r, "%s", p->key->key);
	return r < 0 ? err_prefix(err, r, "%s = %.60s", p->key->key, p->value) : 0;
}
