/* SPDX-License-Identifier: GPL-2.0-or-later */
/* submission.c - builds a job request from configuration, script, options and environment, and
 * submits it. */
#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include "cli/client/wait/retry.h"
#include "cli/client/submit/submission.h"
#include "cli/client/words.h"
#include "cli/views/job_view.h"
#include "common/err.h"
#include "common/signature/signature.h"
#include "common/utf8.h"
#include "common/wire/wire.h"

extern char **environ;

/* ---- the script ---- */

/* Reads the script, or standard input for "-". One byte more than REQUEST_SCRIPT_MAX may come
 * back, so that the parser can refuse it. */
static int read_script(const char *path, char **ret, size_t *ret_size, struct err *err)
{
	_cleanup_free_ char *text = malloc(REQUEST_SCRIPT_MAX + 2);
	_cleanup_close_ int own = -1;
	int fd = STDIN_FILENO;
	size_t size = 0;
	ssize_t n = 1;
	struct stat st;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	if (strcmp(path, "-")) {
		fd = own = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			return err_set(err, -EINVAL,
				       "cannot open the job script '%.200s': %m; to run a "
				       "program write: -- %.80s",
				       path, path);
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(err, -EINVAL, "'%.200s' is a directory, not a job script", path);
	while (n > 0 && size <= REQUEST_SCRIPT_MAX) {
		n = read(fd, text + size, REQUEST_SCRIPT_MAX + 1 - size);
		if (n < 0 && errno != EINTR)
			return err_set(err, -EINVAL, "cannot read '%.200s': %m", path);
		if (n < 0)
			n = 1;
		else
			size += (size_t)n;
	}
	text[size] = '\0';
	*ret = TAKE_PTR(text);
	*ret_size = size;
	return 0;
}

/* Reads the script and its #REEVE and #PBS lines into *r. */
static int load_script(struct request *r, const char *path, struct err *err)
{
	const char *shown = strcmp(path, "-") ? path : "standard input";
	_cleanup_free_ char *text = NULL;
	char ignored[256] = "";
	size_t size = 0;
	int rc;

	rc = read_script(path, &text, &size, err);
	if (rc < 0)
		return rc;
	rc = request_parse_script(r, text, size, shown, ignored, err);
	if (rc < 0)
		return rc;
	if (!utf8_is_valid(text))
		return err_set(err, -EINVAL,
			       "%s is not UTF-8 text; convert it: iconv -f latin1 -t utf-8",
			       shown);
	if (ignored[0])
		fprintf(stderr,
			"reeve: %s: ignored script lines with options that Reeve does not have: %s\n",
			shown, ignored);
	return 0;
}

/* ---- names and lists ---- */

/* Makes a job name from a path: its base name, with _ for each byte that a name must not have. */
static void make_name(char to[static REQUEST_NAME_MAX], const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;
	size_t n = 0;

	for (; base[n] && n < REQUEST_NAME_MAX - 1; n++) {
		char one[2] = { base[n], '\0' };

		to[n] = (n ? request_is_name(one) || strchr(".-", base[n])
			   : request_is_name(one))
				? base[n]
				: '_';
	}
	to[n] = '\0';
	if (!request_is_name(to))
		strcpy(to, "job");
}

/* -EINVAL: an argument is not UTF-8, which JSON needs. */
static int copy_args(char ***list, char *const *args, struct err *err)
{
	size_t n = 0;
	int r = 0;

	for (; *args && r == 0; args++) {
		if (!utf8_is_valid(*args))
			return err_set(err, -EINVAL, "argument %zu is not UTF-8 text", n + 1);
		r = words_append(list, &n, strdup(*args), err);
	}
	return r;
}

/* ---- the environment ---- */

struct env {
	char **list;
	size_t n;
};

/* Sets or replaces a variable of the list. `value` may be of any length; the name has name_size bytes. */
static int set_env(struct env *e, const char *name, size_t name_size, const char *value,
		   struct err *err)
{
	char *item = NULL;

	if (!utf8_is_valid(value))
		return err_set(err, -EINVAL,
			       "the value of %.*s is not UTF-8 text; unset it, or set another "
			       "with --env",
			       (int)name_size, name);
	if (asprintf(&item, "%.*s=%s", (int)name_size, name, value) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < e->n; i++) {
		if (strncmp(e->list[i], item, name_size + 1))
			continue;
		free(e->list[i]);
		e->list[i] = item;
		return 0;
	}
	return words_append(&e->list, &e->n, item, err);
}

/* --export: all, none, or (NULL) the usual variables. */
static int export_env(struct env *e, const char *which, struct err *err)
{
	static const char *const usual[] = {
		"HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG"
	};
	int r = 0;

	if (which && !strcmp(which, "none"))
		return 0;
	if (which && strcmp(which, "all"))
		return err_set(err, -EINVAL, "--export %.32s: it is all or none", which);
	for (char **p = environ; which && *p && r == 0; p++) {
		size_t n = strcspn(*p, "=");

		if ((*p)[n] && n)
			r = set_env(e, *p, n, *p + n + 1, err);
	}
	for (size_t i = 0; !which && i < ARRAY_LEN(usual) && r == 0; i++)
		if (getenv(usual[i]))
			r = set_env(e, usual[i], strlen(usual[i]), getenv(usual[i]), err);
	return r;
}

/* --env NAME=VALUE, or NAME for the value here. */
static int add_named_env(struct env *e, const char *typed, struct err *err)
{
	size_t n = strcspn(typed, "=");
	const char *value;
	char name[256];

	if (!n || n >= sizeof(name) || !utf8_is_valid(typed))
		return err_set(err, -EINVAL, "--env '%.60s': write NAME or NAME=VALUE", typed);
	memcpy(name, typed, n);
	name[n] = '\0';
	value = typed[n] ? typed + n + 1 : getenv(name);
	if (!value)
		return err_set(err, -EINVAL,
			       "--env %.60s: this variable is not set here; set it with "
			       "--env %.60s=VALUE",
			       name, name);
	return set_env(e, name, n, value, err);
}

/* In this order: --export, REEVE_O_WORKDIR (the directory of the submission), then --env, which takes precedence. */
static int read_env(const struct verb_call *call, struct request *r, const char *here,
		    struct err *err)
{
	struct env e = { NULL, 0 };
	int rc = export_env(&e, verb_value(call, "export"), err);

	if (rc == 0)
		rc = set_env(&e, "REEVE_O_WORKDIR", strlen("REEVE_O_WORKDIR"), here, err);
	for (int i = 0; i < call->n_given && rc == 0; i++)
		if (!strcmp(call->given[i].option->name, "env"))
			rc = add_named_env(&e, call->given[i].value, err);
	r->env = e.list;
	return rc;
}

/* ---- the whole ---- */

/* Applies the options whose name is a key of request_set(), in the order typed. */
static int apply_options(const struct verb_call *call, struct request *r, struct err *err)
{
	static const char *const keys[] = {
		"resources", "name",	    "queue",	"account",     "cluster", "output",
		"error",     "join",	    "workdir",	"vmem-action", "array",	  "depend",
		"after-ok",  "after-any",   "hold",	"requeue",     "qos",	  "mail-type",
		"mail-user", "mail-points", "immediate"
	};
	int rc = 0;

	for (int i = 0; i < call->n_given && rc == 0; i++) {
		const struct verb_option *o = call->given[i].option;

		/* The common --output has words to choose from; a job's is a path. */
		if (o->words && !strcmp(o->name, "output"))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(keys) && rc == 0; k++)
			if (!strcmp(o->name, keys[k]))
				rc = request_set(r, keys[k], call->given[i].value, err);
	}
	return rc;
}

/* Makes the working directory absolute, relative to `here`. */
static int check_paths(struct request *r, const char *here, struct err *err)
{
	const char *const paths[] = { here, r->workdir, r->out_path, r->err_path };
	char *absolute = NULL;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (paths[i] && !utf8_is_valid(paths[i]))
			return err_set(err, -EINVAL,
				       "the name of a directory or file is not UTF-8 text; use "
				       "another with --workdir, -o, -e");
	if (r->workdir && *r->workdir == '/')
		return 0;
	if (asprintf(&absolute, "%s%s%s", here, r->workdir ? "/" : "",
		     r->workdir ? r->workdir : "") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	free(r->workdir);
	r->workdir = absolute;
	return 0;
}

/* Defaults of reeve.conf, before script and options. MemoryUnit there decides how the amounts of both are read. */
static void apply_config(const struct cli *c, struct request *r)
{
	memcpy(r->cluster, c->config.cluster, sizeof(r->cluster));
	memcpy(r->account, c->config.account, sizeof(r->account));
	if (c->config.memory_unit != AMOUNT_AS_WRITTEN)
		r->units = (enum amount_units)c->config.memory_unit;
}

int submission_read_resources(const struct cli *c, const struct verb_call *call,
			      struct request *r, struct err *err)
{
	int rc = 0;

	apply_config(c, r);
	if (call->n_args)
		rc = load_script(r, call->args[0], err);
	return rc < 0 ? rc : apply_options(call, r, err);
}

int submission_read(const struct cli *c, const struct verb_call *call, struct request *r,
		    struct err *err)
{
	_cleanup_free_ char *here = getcwd(NULL, 0);
	int rc = 0;

	if (!here)
		return err_set(err, -EINVAL,
			       "cannot find the current directory: %m; cd to another");
	apply_config(c, r);
	if (!call->dashes)
		rc = load_script(r, call->args[0], err);
	if (rc == 0)
		rc = apply_options(call, r, err);
	if (rc == 0)
		rc = copy_args(&r->argv, call->args + (call->dashes ? 0 : 1), err);
	if (rc == 0)
		rc = check_paths(r, here, err);
	if (rc == 0)
		rc = read_env(call, r, here, err);
	if (rc == 0 && !r->name[0])
		make_name(r->name, strcmp(call->args[0], "-") ? call->args[0] : "stdin");
	return rc;
}

/* Prints what the controller says of the job beside its number. */
static void print_note(int64_t job, const char *note)
{
	if (!note)
		return;
	fprintf(stderr, "job %" PRId64 ": ", job);
	cli_put(stderr, note);
	fputc('\n', stderr);
}

int submission_send(struct cli *c, const struct request *r, int64_t *ret_job, struct err *err)
{
	_cleanup_json_ json_t *body = wire_new(), *answer = NULL;
	_cleanup_free_ char *statement = NULL;
	int64_t job;
	int rc;

	if (!body || json_object_set_new(body, "request", wire_encode_request(r)) < 0)
		return err_set(err, -ENOMEM, "out of memory, or text that is not UTF-8");
	rc = signature_encode_job(r, &statement, err);
	if (rc == 0)
		rc = cli_seal(c, statement, body, err);
	if (rc < 0)
		return rc;
	rc = cli_ask(c,
		     (struct http_call){ .method = "POST", .path = "/v1/jobs", .body = body },
		     &answer, err);
	if (rc < 0)
		return rc;
	job = cli_int(answer, "job", 0);
	if (job < 1)
		return err_set(err, -EPROTO, "the controller's answer names no job");
	print_note(job, cli_text(answer, "note"));
	*ret_job = job;
	return 0;
}

/* ---- --immediate ---- */

#define ASK_US (200 * 1000)

/* 1: it waits still. */
static int check_started(const json_t *answer, int64_t job, struct err *err)
{
	char text[REASON_TEXT_MAX];
	struct job_view v;
	int r = job_view_read(json_object_get(answer, "job"), &v, err);

	if (r < 0)
		return r;
	if (v.state == JOB_ENDED && (v.end.kind == END_FAILED || v.end.kind == END_CANCELLED))
		return err_set(err, -ECANCELED, "job %" PRId64 ": %s", job,
			       reason_format_line(&v.end, text, sizeof(text)));
	return v.state == JOB_QUEUED;
}

int submission_wait_start(struct cli *c, int64_t job, struct err *err)
{
	static const bool never = false;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64, job);
	do {
		const struct http_call call = { .method = "GET", .path = path };
		_cleanup_json_ json_t *answer = NULL;

		r = retry_request(c, call, &never, &answer, err);
		if (r == 0)
			r = check_started(answer, job, err);
		if (r > 0 && cli_pause(c, ASK_US, err) < 0)
			r = -EIO;
	} while (r > 0);
	return r;
}
