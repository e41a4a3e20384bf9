/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exec_args.c - parses the arguments of `reeve exec`, its own or those of rsh; see
 * exec_args.h. */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>
#include "cli/client/exec_args.h"
#include "cli/client/words.h"
#include "common/err.h"
#include "common/utf8.h"
#include "common/wire/wire.h"

extern char **environ;

/* --- NULL-terminated lists of words --- */

/* The list is counted each time: command lines are short. */
static int append_word(char ***list, const char *word, size_t size, struct err *err)
{
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	return words_append(list, &n, strndup(word, size), err);
}

static int append_all(char ***list, char *const *words, struct err *err)
{
	int r = 0;

	for (; *words && r == 0; words++)
		r = append_word(list, *words, strlen(*words), err);
	return r;
}

/* "n1,n2" */
static int append_names(char ***list, const char *text, struct err *err)
{
	int r = 0;

	while (r == 0) {
		size_t n = strcspn(text, ",");

		if (!n)
			return err_set(err, -EINVAL, "--node: a name is empty; write n1,n2");
		r = append_word(list, text, n, err);
		if (!text[n])
			return r;
		text += n + 1;
	}
	return r;
}

/* --- arguments of rsh --- */

static int check_user(const char *user, struct err *err)
{
	const struct passwd *pw = getpwuid(getuid());

	if (user && pw && !strcmp(user, pw->pw_name))
		return 0;
	return err_set(
		err, -EINVAL,
		"-l %.40s: a command in a job runs as the owner of the job; leave -l out",
		user ? user : "");
}

/* Skips rsh's -n and -l USER, which may stand before the node and behind it: *at is the index of
 * the word that follows them. -EINVAL: another option, or -l with another user. */
static int skip_options(char *const *words, size_t *at, struct err *err)
{
	while (words[*at] && words[*at][0] == '-') {
		const char *word = words[*at];

		if (!strcmp(word, "-l") && check_user(words[*at + 1], err) < 0)
			return -EINVAL;
		if (strcmp(word, "-l") != 0 && strcmp(word, "-n") != 0)
			return err_set(
				err, -EINVAL,
				"--rsh: unknown option %.40s; only -n and -l USER of rsh may be given",
				word);
		*at += strcmp(word, "-l") ? 1 : 2;
	}
	return 0;
}

/* "a b c", as rsh sends it: the remote shell splits it again. */
static int join_words(char *const *words, char **ret, struct err *err)
{
	size_t size = 1;
	char *p;

	for (char *const *w = words; *w; w++)
		size += strlen(*w) + 1;
	p = *ret = calloc(1, size);
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	for (; *words; words++)
		p += sprintf(p, "%s%s", p == *ret ? "" : " ", *words);
	return 0;
}

/* Collects all words behind --rsh as they were typed. The verb's parser has read some of them as
 * options of `reeve exec` (-n, -l), so these are turned back into words. */
static int collect_rsh_words(const struct verb_call *call, char ***ret, struct err *err)
{
	bool is_behind = false;
	int r = 0;

	for (int i = 0; i < call->n_given && r == 0; i++) {
		const struct verb_given *g = &call->given[i];
		const char letter[] = { '-', g->option->letter, '\0' };

		if (is_behind)
			r = append_word(ret, letter, 2, err);
		is_behind |= !strcmp(g->option->name, "rsh");
		if (is_behind && g->value && r == 0)
			r = append_word(ret, g->value, strlen(g->value), err);
	}
	return r < 0 ? r : append_all(ret, call->args, err);
}

/* words: [-n] [-l USER] NODE [-n] [-l USER] COMMAND... The command is joined with blanks and run
 * by /bin/sh -c, as rsh does. */
static int parse_rsh(char *const *words, struct exec_args *w, struct err *err)
{
	_cleanup_free_ char *line = NULL;
	char sh[] = "/bin/sh", c[] = "-c", *shell[] = { sh, c, NULL, NULL };
	size_t at = 0;
	int r = skip_options(words, &at, err);

	if (r == 0 && words[at])
		r = append_word(&w->nodes, words[at], strlen(words[at]), err);
	at += words[at] != NULL;
	if (r == 0)
		r = skip_options(words, &at, err);
	if (r == 0 && !words[at])
		r = err_set(err, -EINVAL, "--rsh: no command; write --rsh NODE COMMAND");
	if (r == 0)
		r = join_words(words + at, &line, err);
	if (r < 0)
		return r;
	shell[2] = line;
	return append_all(&w->argv, shell, err);
}

static int read_rsh(const struct verb_call *call, struct exec_args *w, struct err *err)
{
	char **words = NULL;
	int r = collect_rsh_words(call, &words, err);

	if (r == 0)
		r = parse_rsh(words, w, err);
	words_free(words);
	return r;
}

/* --- arguments of reeve exec --- */

static int check_text(char *const *argv, struct err *err)
{
	for (size_t i = 0; argv && argv[i]; i++)
		if (!utf8_is_valid(argv[i]))
			return err_set(err, -EINVAL,
				       "word %zu of the command is not UTF-8 text", i + 1);
	return 0;
}

int exec_args_read(const struct verb_call *call, struct exec_args *ret, struct err *err)
{
	int r = 0;

	if (verb_value(call, "rsh"))
		r = read_rsh(call, ret, err);
	else if (!call->n_args)
		r = err_set(err, -EINVAL, "no command; write: reeve exec -j JOB COMMAND");
	else
		r = append_all(&ret->argv, call->args, err);
	for (int i = 0; i < call->n_given && r == 0 && !verb_value(call, "rsh"); i++)
		if (!strcmp(call->given[i].option->name, "node"))
			r = append_names(&ret->nodes, call->given[i].value, err);
	ret->all = !verb_value(call, "rsh") && verb_count(call, "all") > 0;
	if (r == 0 && ret->all && ret->nodes)
		r = err_set(err, -EINVAL,
			    "--all and --node exclude each other; give one of them");
	return r < 0 ? r : check_text(ret->argv, err);
}

void exec_args_done(struct exec_args *w)
{
	w->argv = words_free(w->argv);
	w->nodes = words_free(w->nodes);
}

/* --- the environment --- */

static const char *export_kind(const struct exec_args_export *e)
{
	if (e->typed)
		return e->typed;
	return e->is_inside ? "all" : "none";
}

bool exec_args_needs_job(const struct exec_args_export *e)
{
	return strcmp(export_kind(e), "all") != 0 && strcmp(export_kind(e), "none") != 0;
}

/* Adds NAME=VALUE. Other texts of environ are skipped; one that is not UTF-8 with a warning,
 * because JSON cannot hold it. */
static int add_text(json_t *env, const char *text, struct err *err)
{
	size_t name = strcspn(text, "=");

	if (!name || !text[name])
		return 0;
	if (!utf8_is_valid(text)) {
		fprintf(stderr, "reeve exec: variable %.*s is not UTF-8 text: left out\n",
			(int)name, text);
		return 0;
	}
	return json_array_append_new(env, json_string(text)) < 0
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

/* Replaces the job's value of a variable by this process's. -EINVAL: it is not set here. */
static int put_named(json_t *env, const char *name, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	const char *value = getenv(name);

	if (!value)
		return err_set(
			err, -EINVAL,
			"--export: the variable %.60s is not set here; set it, or leave it out",
			name);
	if (asprintf(&text, "%s=%s", name, value) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = json_array_size(env); i-- > 0;)
		if (!strncmp(json_string_value(json_array_get(env, i)), text, strlen(name) + 1))
			json_array_remove(env, i);
	return add_text(env, text, err);
}

static int put_names(json_t *env, const char *typed, struct err *err)
{
	_cleanup_free_ char *names = strdup(typed);
	char *at = names, *name;
	int r = names ? 0 : err_set(err, -ENOMEM, "out of memory");

	while (r == 0 && (name = strsep(&at, ",")))
		r = put_named(env, name, err);
	return r;
}

int exec_args_env(const struct exec_args_export *e, const json_t *job, json_t **ret,
		  struct err *err)
{
	const char *what = export_kind(e);
	const json_t *own = json_object_get(json_object_get(job, "request"), "env");
	_cleanup_json_ json_t *env =
		json_is_array(own) ? json_copy((json_t *)own) : json_array();
	int r = 0;

	*ret = NULL;
	if (!strcmp(what, "none"))
		return 0;
	if (!env)
		return err_set(err, -ENOMEM, "out of memory");
	if (!strcmp(what, "all"))
		for (char **p = environ; *p && r == 0; p++)
			r = add_text(env, *p, err);
	else
		r = put_names(env, what, err);
	if (r == 0)
		*ret = TAKE_PTR(env);
	return r;
}
