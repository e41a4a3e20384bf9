/* config.c - see config.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "common/err.h"
#include "common/nearest.h"
#include "common/time_units.h"
#include "controller/config/config_impl.h"

/* What is read: a file with its drop-ins, or a text (path NULL). */
struct source {
	const char *path, *text;
	size_t size;
};

/* One reading, whatever the number of files. */
struct reading {
	struct config *c;
	const struct config_faults *to;
	int n_faults;
};

static int new_config(struct config **ret, struct err *err)
{
	_cleanup_(config_freep) struct config *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->node_lost_s = 120;
	c->max_requeues = 3;
	c->max_suspend_s = DAY_S;
	c->lead_lease_s = 15;
	c->max_connections = 4096;
	c->max_array_size = 10000;
	c->max_queued_per_user = 100000;
	c->max_stored_per_user = 1000000000;
	c->keep_output_s = 14 * DAY_S;
	c->keep_events_s = 90 * DAY_S;
	c->request_timeout_s = 30;
	c->policy.year_start_month = 4;
	c->policy.year_start_day = 1;
	c->policy.usage_half_life_s = 7 * DAY_S;
	c->policy.late_after_s = DAY_S;
	c->policy.max_age_s = 7 * DAY_S;
	c->policy.gpu_idle_min = 10;
	c->hooks = (struct config_hooks){ .at_once = 4, .time_limit_s = 30, .queue_max = 1000 };
	c->hooks.event_set = 1U << CONFIG_HOOK_JOB_STARTED | 1U << CONFIG_HOOK_JOB_KILLED |
			     1U << CONFIG_HOOK_JOB_ENDED | 1U << CONFIG_HOOK_GPU_IDLE |
			     1U << CONFIG_HOOK_GPU_BUSY | 1U << CONFIG_HOOK_NODE_LOST;
	r = config_set_text(&c->listen, "0.0.0.0:8640", err);
	if (r >= 0)
		r = config_set_text(&c->database, "/var/lib/reeve-controller/ledger.db", err);
	if (r >= 0)
		r = config_set_text(&c->operators, "root", err);
	if (r >= 0)
		r = config_set_text(&c->policy.time_zone, "UTC", err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

/* ---- reading ---- */

static int take(void *target, const struct conf_place *place, struct err *err)
{
	int r = config_note(target, place, err);

	return r < 0 ? r : config_check_value(place, err);
}

static void count(void *ctx, const struct conf_fault *fault)
{
	struct reading *reading = ctx;

	reading->n_faults++;
	reading->to->tell(reading->to->ctx, fault);
}

static void ignore(void *ctx, const struct conf_fault *fault)
{
	(void)ctx;
	(void)fault;
}

static int read_source(const struct source *from, const struct conf_reader *how,
		       struct err *err)
{
	return from->path ? conf_read(from->path, how, err)
			  : conf_read_text(from->text, from->size, "controller.conf", how, err);
}

/* The profiles come first, but their names stand in the file: so these are looked for
 * beforehand, by reading the whole without complaint. */
static int read_profile(const struct source *from, struct reading *reading, struct err *err)
{
	_cleanup_(config_freep) struct config *scout = NULL;
	struct err why = { "" };
	struct conf_fault fault;
	int r = new_config(&scout, err);

	if (r == 0)
		r = read_source(from,
				&(struct conf_reader){ config_keys, config_sections, scout,
						       take, ignore, NULL },
				err);
	if (r < 0 || !scout->policy.profile)
		return r;
	r = config_read_profiles(scout,
				 &(struct conf_reader){ config_keys, config_sections,
							reading->c, take, count, reading },
				 &why);
	if (r == 0 || r == -ENOMEM)
		return r;
	fault = config_place(scout, scout, "Profile");
	err_prefix(&why, 0, "%s, line %d: Profile = %.64s", fault.file, fault.line,
		   scout->policy.profile);
	fault.text = why.text;
	count(reading, &fault);
	return 0;
}

/* < 0: could not be read at all. */
static int read_all(const struct source *from, struct reading *reading, struct err *err)
{
	const struct conf_reader how = { config_keys, config_sections, reading->c,
					 take,	      count,	       reading };
	void *object;
	int r = read_profile(from, reading, err);

	if (r == 0)
		r = read_source(from, &how, err);
	if (r == 0 && !reading->c->n_clusters)
		r = config_add_cluster(reading->c, "main", &object, err);
	if (r == 0)
		config_resolve_units(reading->c);
	if (r == 0)
		reading->n_faults += config_check_all(reading->c, reading->to);
	reading->c->places = config_places_free(reading->c->places);
	return r;
}

static int check_source(const struct source *from, const struct config_faults *to,
			struct config **ret, struct err *err)
{
	_cleanup_(config_freep) struct config *c = NULL;
	struct reading reading = { NULL, to, 0 };
	int r = new_config(&c, err);

	reading.c = c;
	if (r == 0)
		r = read_all(from, &reading, err);
	if (r < 0 || reading.n_faults)
		return r < 0 ? r : reading.n_faults;
	*ret = TAKE_PTR(c);
	return 0;
}

int config_check(const char *path, const struct config_faults *to, struct config **ret,
		 struct err *err)
{
	return check_source(&(struct source){ .path = path }, to, ret, err);
}

static void keep_first(void *ctx, const struct conf_fault *fault)
{
	struct err *first = ctx;

	if (!*first->text)
		err_set(first, 0, "%s", fault->text);
}

static int load_source(const struct source *from, struct config **ret, struct err *err)
{
	struct err first = { "" };
	int r = check_source(from, &(struct config_faults){ keep_first, &first }, ret, err);

	return r > 0 ? err_set(err, -EINVAL, "%s", first.text) : r;
}

int config_load(const char *path, struct config **ret, struct err *err)
{
	return load_source(&(struct source){ .path = path }, ret, err);
}

int config_parse(const char *text, size_t size, struct config **ret, struct err *err)
{
	return load_source(&(struct source){ .text = text, .size = size }, ret, err);
}

static void free_list(const char *section, void **objects, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		conf_done(config_keys, section, objects[i]);
		free(objects[i]);
	}
	free(objects);
}

struct config *config_free(struct config *c)
{
	if (!c)
		return NULL;
	free_list("Cluster", (void **)c->clusters, c->n_clusters);
	free_list("NodeType", (void **)c->node_types, c->n_node_types);
	free_list("GpuModel", (void **)c->gpu_models, c->n_gpu_models);
	free_list("Queue", (void **)c->queues, c->n_queues);
	free_list("Qos", (void **)c->qos, c->n_qos);
	free_list("Account", (void **)c->accounts, c->n_accounts);
	free_list("Node", (void **)c->nodes, c->n_nodes);
	conf_done(config_keys, "Controller", c);
	conf_done(config_keys, "Policy", c);
	conf_done(config_keys, "Hooks", c);
	config_places_free(c->places);
	free(c);
	return NULL;
}

const struct config_cluster *config_cluster(const struct config *c, const char *name)
{
	if (!*name)
		return c->clusters[0];
	for (size_t i = 0; i < c->n_clusters; i++)
		if (!strcmp(c->clusters[i]->name, name))
			return c->clusters[i];
	return NULL;
}

const struct config_account *config_account(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_accounts; i++)
		if (!strcmp(c->accounts[i]->name, name))
			return c->accounts[i];
	return NULL;
}

const struct config_node *config_node(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		if (!strcmp(c->nodes[i]->name, name))
			return c->nodes[i];
	return NULL;
}

const struct config_queue *config_queue(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_queues; i++)
		if (!strcmp(c->queues[i]->name, name))
			return c->queues[i];
	return NULL;
}

const struct config_qos *config_qos(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_qos; i++)
		if (!strcmp(c->qos[i]->name, name))
			return c->qos[i];
	return NULL;
}

static int refuse_qos(const struct config *c, const char *name, struct err *err)
{
	struct nearest near;
	char list[256] = "";

	if (c->n_qos == 0)
		return err_set(err, -EINVAL, "there is no QOS '%.64s': this site has none",
			       name);
	nearest_init(&near, name);
	for (size_t i = 0; i < c->n_qos; i++) {
		size_t n = strlen(list);

		nearest_offer(&near, c->qos[i]->name);
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", c->qos[i]->name);
	}
	if (nearest_word(&near))
		return err_set(err, -EINVAL, "there is no QOS '%.64s'; did you mean '%s'?",
			       name, nearest_word(&near));
	return err_set(err, -EINVAL, "there is no QOS '%.64s'; there are: %s", name, list);
}

int config_find_qos(const struct config *c, const char *name, const struct config_qos **ret,
		    struct err *err)
{
	*ret = config_qos(c, name);
	return *ret ? 0 : refuse_qos(c, name, err);
}

const char *config_qos_or_default(const struct config *c, const char *named)
{
	return *named ? named : c->policy.default_qos;
}

const struct config_node_type *config_node_type(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_node_types; i++)
		if (!strcasecmp(c->node_types[i]->name, name))
			return c->node_types[i];
	return NULL;
}

const struct config_gpu_model *config_gpu_model(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_gpu_models; i++)
		if (!strcasecmp(c->gpu_models[i]->name, name))
			return c->gpu_models[i];
	return NULL;
}

/* Lists were checked at load: names by commas, blanks around them. */
static bool has_name(const char *list, const char *name)
{
	size_t size = strlen(name);

	while (size && list && *list) {
		size_t n = strcspn(list, ","), skip = strspn(list, " \t");
		size_t own = strcspn(list + skip, ", \t");

		if (own == size && !strncmp(list + skip, name, size))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

int64_t config_gpu_idle_ns(const struct config *c)
{
	return c->policy.gpu_idle_min * MIN_NS;
}

bool config_is_operator(const struct config *c, const char *user)
{
	return has_name(c->operators, user);
}

bool config_is_member(const struct config_account *a, const char *user)
{
	return has_name(a->users, user);
}

bool config_qos_allows_user(const struct config_qos *q, const char *user)
{
	return !q->allow_users || has_name(q->allow_users, user);
}

bool config_qos_allows_account(const struct config_qos *q, const char *account)
{
	return !q->allow_accounts || has_name(q->allow_accounts, account);
}

bool config_allows_cluster(const struct config_account *a, const char *cluster)
{
	return !a->clusters || has_name(a->clusters, cluster);
}

bool config_has_queue(const struct config_cluster *c, const char *queue)
{
	return has_name(c->queues, queue);
}

void config_default_queue(const struct config_cluster *c, char ret[static REQUEST_NAME_MAX])
{
	const char *from = c->queues + strspn(c->queues, " \t");

	snprintf(ret, REQUEST_NAME_MAX, "%.*s", (int)strcspn(from, ", \t"), from);
}

size_t config_accounts_of(const struct config *c, const char *user, char *buf, size_t size)
{
	size_t n = 0, used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < c->n_accounts; i++) {
		if (!config_is_member(c->accounts[i], user))
			continue;
		if (used < size)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", n ? ", " : "",
						 c->accounts[i]->name);
		n++;
	}
	return n;
}
