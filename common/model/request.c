/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.c - initializes, copies and frees requests, sets typed options, and checks what must hold of
 * every request; see request.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/request.h"

void request_init(struct request *r)
{
	memset(r, 0, sizeof(*r));
}

static void free_list(char **list)
{
	for (char **p = list; p && *p; p++)
		free(*p);
	free(list);
}

void request_shed(struct request *r)
{
	free(r->script);
	free_list(r->argv);
	free_list(r->env);
	r->script = NULL;
	r->argv = r->env = NULL;
}

void request_done(struct request *r)
{
	request_shed(r);
	free(r->workdir);
	free(r->out_path);
	free(r->err_path);
	free(r->part.hosts);
	free(r->mail_user);
	after_list_done(&r->after);
	memset(r, 0, sizeof(*r));
}

static int copy_text(const char *from, char **ret)
{
	if (from && !(*ret = strdup(from)))
		return -ENOMEM;
	return 0;
}

static int copy_list(char *const *from, char ***ret)
{
	size_t n = 0;

	if (!from)
		return 0;
	while (from[n])
		n++;
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (copy_text(from[i], &(*ret)[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int copy_after(const struct after_list *from, struct after_list *ret)
{
	for (size_t i = 0; i < from->n; i++)
		if (after_list_add(ret, from->at[i], NULL) < 0)
			return -ENOMEM;
	return 0;
}

int request_copy(const struct request *from, struct request *ret, struct err *err)
{
	struct request to = *from;

	to.script = to.workdir = to.out_path = to.err_path = NULL;
	to.argv = to.env = NULL;
	to.part.hosts = to.mail_user = NULL;
	to.after = (struct after_list){ 0 };
	if (copy_after(&from->after, &to.after) < 0 ||
	    copy_text(from->script, &to.script) < 0 || copy_list(from->argv, &to.argv) < 0 ||
	    copy_list(from->env, &to.env) < 0 || copy_text(from->workdir, &to.workdir) < 0 ||
	    copy_text(from->out_path, &to.out_path) < 0 ||
	    copy_text(from->err_path, &to.err_path) < 0 ||
	    copy_text(from->part.hosts, &to.part.hosts) < 0 ||
	    copy_text(from->mail_user, &to.mail_user) < 0) {
		request_done(&to);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = to;
	return 0;
}

bool request_is_name(const char *name)
{
	size_t n = strnlen(name, REQUEST_NAME_MAX);

	if (!n || n == REQUEST_NAME_MAX || *name == '-' || *name == '.')
		return false;
	return strspn(name,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") ==
	       n;
}

int request_check_name(const char *name, struct err *err)
{
	if (request_is_name(name))
		return 0;
	return err_set(err, -EINVAL,
		       "'%.64s' is not a name: 1 to 63 of letters, digits and . _ + -", name);
}

static int set_name(char to[static REQUEST_NAME_MAX], const char *key, const char *value,
		    struct err *err)
{
	if (!request_is_name(value))
		return err_set(
			err, -EINVAL,
			"%s '%.80s' is not a name: 1 to 63 of letters, digits and . _ + -, "
			"beginning with none of - .",
			key, value);
	memcpy(to, value, strlen(value) + 1);
	return 0;
}

static int replace_text(char **to, const char *value, struct err *err)
{
	char *copy = strdup(value);

	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	free(*to);
	*to = copy;
	return 0;
}

/* Replaces a path; `key` is for the message. */
static int set_text(char **to, const char *key, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, -EINVAL, "%s needs a path", key);
	if (strlen(value) >= 4096)
		return err_set(err, -EINVAL, "%s '%.64s...' is longer than a path may be", key,
			       value);
	return replace_text(to, value, err);
}

static int set_join(struct request *r, const char *value, struct err *err)
{
	if (strcmp(value, "oe") && strcmp(value, "n"))
		return err_set(err, -EINVAL,
			       "join '%.32s': write oe (stderr into stdout) or n (apart)",
			       value);
	r->join = value[0] == 'o';
	return 0;
}

static int set_vmem_policy(struct request *r, const char *value, struct err *err)
{
	if (strcmp(value, "kill") && strcmp(value, "enomem"))
		return err_set(
			err, -EINVAL,
			"vmem-action '%.32s': write kill (exceeding ends the job) or enomem "
			"(the call fails and the job lives)",
			value);
	r->vmem_policy = value[0] == 'k' ? VMEM_POLICY_KILL : VMEM_POLICY_DENY;
	return 0;
}

static int set_requeue(struct request *r, const char *value, struct err *err)
{
	if (strcmp(value, "y") && strcmp(value, "n"))
		return err_set(err, -EINVAL,
			       "requeue '%.32s': write y (queued again when its node is lost) "
			       "or n (ended then)",
			       value);
	r->requeue = value[0] == 'y';
	return 0;
}

/* NULL: now or never. */
static int set_immediate(struct request *r, const char *value, struct err *err)
{
	char *end = NULL;
	long long s = value ? strtoll(value, &end, 10) : 0;

	if (value && (*value < '0' || *value > '9' || *end || s > REQUEST_IMMEDIATE_MAX_S))
		return err_set(err, -EINVAL,
			       "immediate '%.32s': write the seconds within which the job must "
			       "start, at most %d",
			       value, REQUEST_IMMEDIATE_MAX_S);
	r->is_immediate = true;
	r->immediate_s = s;
	return 0;
}

/* Sets "select=...", "place=..." and "qos=..." of a resource list; the other items are written to
 * `rest`, which is empty and has room for the whole list. */
static int take_select(struct request *r, const char *list, char *rest, struct err *err)
{
	const size_t size = strlen(list) + 1;
	char item[SELECT_TEXT_MAX];
	const char *between = "";
	size_t used = 0;
	int rc = 0;

	while (list && rc >= 0) {
		const char *from = list + strspn(list, " \t");
		size_t n = strcspn(from, ",");
		bool is_place = !strncmp(from, "place=", 6);

		list = from[n] ? from + n + 1 : NULL;
		while (n && strchr(" \t", from[n - 1]))
			n--;
		if (n < sizeof(item) && !strncmp(from, "qos=", 4)) {
			snprintf(item, sizeof(item), "%.*s", (int)n - 4, from + 4);
			rc = set_name(r->qos, "qos", item, err);
			continue;
		}
		if (!is_place && strncmp(from, "select=", 7) != 0) {
			used += (size_t)snprintf(rest + used, size - used, "%s%.*s", between,
						 (int)n, from);
			between = ",";
			continue;
		}
		if (n >= sizeof(item))
			return err_set(err, -EINVAL, "'%.32s...' is too long for a resource",
				       from);
		snprintf(item, sizeof(item), "%.*s", (int)n, from);
		rc = is_place ? select_parse_place(item + 6, &r->select, &r->is_exclusive, err)
			      : select_parse_in(item + 7, r->units, &r->select,
						r->res.gpu_model, err);
	}
	return rc;
}

static int set_resources(struct request *r, const char *list, struct err *err)
{
	_cleanup_free_ char *rest = calloc(1, strlen(list) + 1);
	struct request to = *r; /* written back when all of the list is right */
	int rc = rest ? take_select(&to, list, rest, err)
		      : err_set(err, -ENOMEM, "out of memory");

	if (rc >= 0 && (*rest || !strstr(list, "=")))
		rc = resources_parse_in(*rest ? rest : list, r->units, &to.res, err);
	if (rc < 0)
		return rc;
	*r = to;
	return 0;
}

int request_total(struct request *r, struct err *err)
{
	struct resources sums = r->res;
	char text[512];
	int rc;

	if (!r->select.n)
		return 0;
	rc = select_total(&r->select, &sums, err);
	if (rc < 0)
		return rc;
	for (const struct resource_def *d = request_resources; d->name; d++) {
		const int64_t *was = (const void *)((const char *)&r->res + d->offset),
			      *is = (const void *)((const char *)&sums + d->offset);

		if (*was && *was != *is)
			return err_set(err, -EINVAL,
				       "%s is stated beside select, whose chunks say what each "
				       "of them has: %s in all; leave it out",
				       d->name, resources_format(&sums, text, sizeof(text)));
	}
	r->res = sums;
	return 0;
}

static int set_mail_user(struct request *r, const char *value, struct err *err)
{
	int rc = mail_check_user(value, err);

	return rc < 0 ? rc : replace_text(&r->mail_user, value, err);
}

/* When, how often and under which condition a job runs, and which mails tell about it. */
static int set_run(struct request *r, const char *key, const char *value, struct err *err)
{
	if (!strcmp(key, "array"))
		return array_parse(value, &r->array, err);
	if (!strcmp(key, "depend")) /* -W depend=..., --depend ... */
		return after_parse(value + (strncmp(value, "depend=", 7) ? 0 : 7), &r->after,
				   err);
	if (!strcmp(key, "after-ok"))
		return after_parse_jobs(value, AFTER_OK, &r->after, err);
	if (!strcmp(key, "after-any"))
		return after_parse_jobs(value, AFTER_ANY, &r->after, err);
	if (!strcmp(key, "requeue"))
		return set_requeue(r, value, err);
	if (!strcmp(key, "immediate"))
		return set_immediate(r, value, err);
	if (!strcmp(key, "mail-type"))
		return mail_parse_types(value, &r->mail_types, err);
	if (!strcmp(key, "mail-points"))
		return mail_parse_points(value, &r->mail_types, err);
	if (!strcmp(key, "mail-user"))
		return set_mail_user(r, value, err);
	if (!strcmp(key, "hold")) {
		r->is_held = true;
		return 0;
	}
	return err_set(err, -EINVAL, "unknown option '%.32s'", key);
}

int request_set(struct request *r, const char *key, const char *value, struct err *err)
{
	if (!strcmp(key, "resources"))
		return set_resources(r, value, err);
	if (!strcmp(key, "name"))
		return set_name(r->name, key, value, err);
	if (!strcmp(key, "queue"))
		return set_name(r->queue, key, value, err);
	if (!strcmp(key, "account"))
		return set_name(r->account, key, value, err);
	if (!strcmp(key, "qos"))
		return set_name(r->qos, key, value, err);
	if (!strcmp(key, "cluster"))
		return set_name(r->cluster, key, value, err);
	if (!strcmp(key, "output"))
		return set_text(&r->out_path, key, value, err);
	if (!strcmp(key, "error"))
		return set_text(&r->err_path, key, value, err);
	if (!strcmp(key, "workdir"))
		return set_text(&r->workdir, key, value, err);
	if (!strcmp(key, "join"))
		return set_join(r, value, err);
	if (!strcmp(key, "vmem-action"))
		return set_vmem_policy(r, value, err);
	return set_run(r, key, value, err);
}

static int check_bound(const struct resources *res, const struct resource_def *d,
		       struct err *err)
{
	int64_t v = *(const int64_t *)(const void *)((const char *)res + d->offset);

	if (v && (v < d->min || v > d->max))
		return err_set(err, -EINVAL, "%s = %lld is outside %lld to %lld", d->name,
			       (long long)v, (long long)d->min, (long long)d->max);
	return 0;
}

static int check_resources(const struct resources *res, struct err *err)
{
	const char *missing = !res->ncpus	  ? "ncpus=1"
			      : !res->vmem_bytes  ? "vmem=2GB"
			      : !res->jobfs_bytes ? "jobfs=100MB"
			      : !res->walltime_s  ? "walltime=0:10:00"
						  : NULL;
	int r;

	if (missing)
		return err_set(
			err, -EINVAL,
			"the request does not state %.*s and this site has no default for "
			"it; add e.g. -l %s",
			(int)strcspn(missing, "="), missing, missing);
	for (const struct resource_def *d = request_resources; d->name; d++) {
		r = check_bound(res, d, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Total bytes of a list, each entry with its NUL; -1 past `max`. */
static int64_t list_size(char *const *list, int64_t max)
{
	int64_t sum = 0;

	for (; list && *list; list++) {
		sum += (int64_t)strlen(*list) + 1;
		if (sum > max)
			return -1;
	}
	return sum;
}

static int check_env(char *const *env, struct err *err)
{
	for (; env && *env; env++) {
		const char *eq = strchr(*env, '=');

		if (!eq || eq == *env)
			return err_set(err, -EINVAL,
				       "environment entry '%.64s' is not NAME=value", *env);
	}
	return 0;
}

static int check_command(const struct request *r, struct err *err)
{
	bool is_sister = r->part.index > 0; /* part 0 has the command */

	if (!is_sister && !r->script && (!r->argv || !r->argv[0] || !r->argv[0][0]))
		return err_set(err, -EINVAL,
			       "nothing to run: give a job script, or a command after --");
	if (r->script && !r->script[0])
		return err_set(err, -EINVAL, "the job script is empty");
	if (r->script && strlen(r->script) > REQUEST_SCRIPT_MAX)
		return err_set(err, -EINVAL, "the job script is larger than 1 MiB");
	if (list_size(r->argv, REQUEST_ENV_MAX) < 0)
		return err_set(err, -EINVAL, "the command is longer than 256 KiB");
	if (list_size(r->env, REQUEST_ENV_MAX) < 0)
		return err_set(err, -EINVAL,
			       "the environment is larger than 256 KiB; pass fewer variables "
			       "(--export none)");
	return check_env(r->env, err);
}

static int check_names(const struct request *r, struct err *err)
{
	const struct {
		const char *key, *value;
	} names[] = {
		{ "cluster", r->cluster }, { "account", r->account }, { "user", r->user },
		{ "queue", r->queue },	   { "name", r->name },	      { "qos", r->qos },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].value[0] && !request_is_name(names[i].value))
			return err_set(err, -EINVAL, "%s '%.63s' is not a name", names[i].key,
				       names[i].value);
	return 0;
}

static int check_immediate(const struct request *r, struct err *err)
{
	const char *waits = r->array.n	 ? "an array, whose tasks wait for each other"
			    : r->after.n ? "a job that waits for others"
			    : r->is_held ? "a job that is held"
					 : NULL;

	if (!r->is_immediate || !waits)
		return 0;
	return err_set(err, -EINVAL, "immediate is not for %s; leave one of the two out",
		       waits);
}

int request_check(const struct request *r, struct err *err)
{
	int rc = check_immediate(r, err);

	if (rc < 0)
		return rc;
	if (r->part.n)
		return err_set(err, -EINVAL,
			       "part: the controller decides which part of a job a node has; "
			       "leave it out of the request");
	return request_check_given(r, err);
}

int request_check_given(const struct request *r, struct err *err)
{
	int rc;

	rc = check_names(r, err);
	if (rc < 0)
		return rc;
	rc = check_resources(&r->res, err);
	if (rc < 0)
		return rc;
	rc = check_command(r, err);
	if (rc < 0)
		return rc;
	if (r->array.n && r->stream)
		return err_set(err, -EINVAL,
			       "the output of an array cannot be streamed: submit it with "
			       "'reeve submit'");
	if (!r->workdir || r->workdir[0] != '/')
		return err_set(err, -EINVAL, "workdir '%.64s' is not an absolute path",
			       r->workdir ? r->workdir : "");
	return 0;
}
