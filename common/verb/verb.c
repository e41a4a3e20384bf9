/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb.c - parses a command line by its verb's table with getopt_long(); see verb.h. Help and man page
 * are in verb_help.c. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/nearest.h"
#include "common/verb/verb.h"

#define OPTIONS_MAX 64
#define LONG_ONLY 1000 /* getopt's value of option i: its letter, or this + i */

/* The tables as getopt_long() wants them. */
struct getopt_table {
	const struct verb_option *options[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 1];
	char shorts[3 * OPTIONS_MAX + 3];
	int n;
};

static bool has_name(const struct getopt_table *t, const char *name)
{
	for (int i = 0; i < t->n; i++)
		if (!strcmp(t->options[i]->name, name))
			return true;
	return false;
}

static int kind_of_argument(const struct verb_option *o)
{
	if (!o->arg)
		return no_argument;
	return o->arg[0] == '[' ? optional_argument : required_argument;
}

/* Called for the verb's own options first, so that these hide common ones of the same name or letter. */
static void add_options(struct getopt_table *t, const struct verb_option *from)
{
	size_t end = strlen(t->shorts);
	bool letter;

	for (const struct verb_option *o = from; o && o->name && t->n < OPTIONS_MAX; o++) {
		if (has_name(t, o->name))
			continue;
		letter = o->letter && !strchr(t->shorts, o->letter);
		t->options[t->n] = o;
		t->longs[t->n] = (struct option){
			.name = o->name,
			.has_arg = kind_of_argument(o),
			.val = letter ? (unsigned char)o->letter : LONG_ONLY + t->n,
		};
		t->n++;
		if (!letter)
			continue;
		t->shorts[end++] = o->letter;
		for (int i = 0; i < kind_of_argument(o); i++) /* one colon; two: optional */
			t->shorts[end++] = ':';
	}
	t->shorts[end] = '\0';
}

static const struct verb_option *option_of(const struct getopt_table *t, int val)
{
	for (int i = 0; i < t->n; i++)
		if (t->longs[i].val == val)
			return t->options[i];
	return NULL;
}

/* Options of Slurm's commands, and the option with the same meaning here. */
static const struct {
	const char *typed, *option, *value;
} foreign_options[] = {
	{ "partition", "queue", " NAME" },     { "time", "resources", " walltime=H:MM:SS" },
	{ "mem", "resources", " mem=SIZE" },   { "cpus-per-task", "resources", " ncpus=N" },
	{ "ntasks", "resources", " ncpus=N" }, { "gres", "resources", " ngpus=N" },
	{ "gpus", "resources", " ngpus=N" },   { "job-name", "name", " NAME" },
};

/* 0: the option is none of another system, or the verb has nothing for it. */
static int name_foreign(const struct getopt_table *t, const char *name, struct err *err)
{
	for (size_t k = 0; k < ARRAY_LEN(foreign_options); k++) {
		if (strcmp(foreign_options[k].typed, name) != 0)
			continue;
		for (int i = 0; i < t->n; i++)
			if (!strcmp(t->options[i]->name, foreign_options[k].option) &&
			    t->options[i]->letter)
				return err_set(err, -EINVAL,
					       "unknown option --%s; here it is -%c%s (--%s)",
					       name, t->options[i]->letter,
					       foreign_options[k].value,
					       foreign_options[k].option);
	}
	return 0;
}

static int bad_option(const struct getopt_table *t, const char *typed, struct err *err)
{
	char name[48];
	struct nearest near;

	if (strncmp(typed, "--", 2))
		return err_set(err, -EINVAL, "unknown option -%c%s (see --help)",
			       optopt > ' ' && optopt < 0x7f ? optopt : '?',
			       optopt >= '0' && optopt <= '9'
				       ? "; write -- before a negative number"
				       : "");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
	nearest_init(&near, name);
	for (int i = 0; i < t->n; i++)
		nearest_offer(&near, t->options[i]->name);
	if (optopt && option_of(t, optopt))
		return err_set(err, -EINVAL, "option --%s takes no value", name);
	if (name_foreign(t, name, err) < 0)
		return -EINVAL;
	if (nearest_word(&near))
		return err_set(err, -EINVAL, "unknown option --%s; did you mean --%s?", name,
			       nearest_word(&near));
	return err_set(err, -EINVAL, "unknown option --%s (see --help)", name);
}

static int lacks_value(const struct getopt_table *t, struct err *err)
{
	const struct verb_option *o = option_of(t, optopt);

	if (!o)
		return err_set(err, -EINVAL, "an option lacks its value");
	if (!o->letter)
		return err_set(err, -EINVAL, "option --%s needs a value: --%s %s", o->name,
			       o->name, o->arg);
	return err_set(err, -EINVAL, "option -%c (--%s) needs a value: -%c %s", o->letter,
		       o->name, o->letter, o->arg);
}

static int read_options(const struct getopt_table *t, struct verb_argv typed,
			struct verb_call *call, struct err *err)
{
	const char *last_value = NULL;
	int c;

	optind = 0; /* also makes getopt forget an earlier argv */
	opterr = 0;
	while ((c = getopt_long(typed.argc, typed.argv, t->shorts, t->longs, NULL)) != -1) {
		if (c == '?')
			return bad_option(t, typed.argv[optind - 1], err);
		if (c == ':')
			return lacks_value(t, err);
		last_value = optarg;
		call->given[call->n_given++] = (struct verb_given){ option_of(t, c), optarg };
	}
	call->args = typed.argv + optind;
	call->n_args = typed.argc - optind;
	call->dashes = optind > 1 && typed.argv[optind - 1] != last_value &&
		       !strcmp(typed.argv[optind - 1], "--");
	return 0;
}

static bool has_option(const struct verb *v, const char *name)
{
	for (const struct verb_option *o = v->options; o && o->name; o++)
		if (!strcmp(o->name, name))
			return true;
	return false;
}

/* People type "usage physics" for "usage --account physics". */
static int refuse_argument(const struct verb *v, const char *arg, struct err *err)
{
	if (v->max_args == 0 && has_option(v, "account") && !strchr("0123456789-", *arg))
		return err_set(
			err, -EINVAL,
			"unexpected argument '%.60s'; did you mean --account %.60s? (see "
			"--help)",
			arg, arg);
	return err_set(err, -EINVAL, "unexpected argument '%.60s'%s (see --help)", arg,
		       v->max_args ? "" : "; this command takes options only");
}

/* Not where --help or --version is given: they need no arguments. */
static int check_arity(const struct verb *v, const struct verb_call *call, struct err *err)
{
	if (verb_count(call, "help") || verb_count(call, "version"))
		return 0;
	if (call->n_args < v->min_args)
		return err_set(err, -EINVAL,
			       "an argument is missing; write: %s %s (see --help)", v->name,
			       v->args ? v->args : "");
	if (v->max_args >= 0 && call->n_args > v->max_args)
		return refuse_argument(v, call->args[v->max_args], err);
	return 0;
}

int verb_parse(const struct verb *v, const struct verb_option *common, struct verb_argv typed,
	       struct verb_call *ret, struct err *err)
{
	struct getopt_table table = { .shorts = "" };
	struct verb_call call = { .verb = v };
	size_t room = 1;
	int r;

	strcpy(table.shorts, v->stop_at_args ? "+:" : ":");
	add_options(&table, v->options);
	add_options(&table, common);
	for (int i = 0; i < typed.argc; i++) /* "-abc" is three options */
		room += strlen(typed.argv[i]);
	call.given = calloc(room, sizeof(*call.given));
	if (!call.given)
		return err_set(err, -ENOMEM, "out of memory");
	r = read_options(&table, typed, &call, err);
	if (r == 0)
		r = check_arity(v, &call, err);
	if (r < 0) {
		free(call.given);
		return r;
	}
	*ret = call;
	return 0;
}

void verb_done(struct verb_call *call)
{
	free(call->given);
	*call = (struct verb_call){ 0 };
}

const char *verb_value(const struct verb_call *call, const char *option)
{
	for (int i = call->n_given - 1; i >= 0; i--)
		if (!strcmp(call->given[i].option->name, option))
			return call->given[i].value;
	return NULL;
}

int verb_count(const struct verb_call *call, const char *option)
{
	int n = 0;

	for (int i = 0; i < call->n_given; i++)
		n += !strcmp(call->given[i].option->name, option);
	return n;
}

const struct verb *verb_find(const struct verb_tool *tool, const char *name, struct err *err)
{
	struct nearest near;

	nearest_init(&near, name);
	for (const struct verb *const *v = tool->verbs; *v; v++) {
		if (!strcmp((*v)->name, name))
			return *v;
		nearest_offer(&near, (*v)->name);
	}
	if (*name == '-')
		err_set(err, -EINVAL,
			"%.40s: options come behind the command; '%s help' lists the commands",
			name, tool->name);
	else if (nearest_word(&near))
		err_set(err, -EINVAL, "unknown command '%.40s'; did you mean '%s %s'?", name,
			tool->name, nearest_word(&near));
	else
		err_set(err, -EINVAL, "unknown command '%.40s'; '%s help' lists them", name,
			tool->name);
	return NULL;
}

int verb_main(const struct verb_tool *tool, struct verb_argv typed, void *ctx,
	      const struct verb **ret_verb, struct err *err)
{
	const struct verb *v;
	struct verb_call call;
	int r;

	if (typed.argc < 2)
		return err_set(err, -EINVAL, "a command is needed; '%s help' lists them",
			       tool->name);
	v = verb_find(tool, typed.argv[1], err);
	if (!v)
		return -EINVAL;
	if (ret_verb)
		*ret_verb = v;
	typed.argv++;
	typed.argc--;
	r = verb_parse(v, tool->common, typed, &call, err);
	if (r < 0)
		return r;
	if (verb_count(&call, "help"))
		verb_help(tool, v, stdout);
	else
		r = v->run(&call, ctx, err);
	verb_done(&call);
	return r;
}
