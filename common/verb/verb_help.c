/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb_help.c - prints what a verb table documents: --help, words for completion, the man page. */
#include <stdlib.h>
#include <string.h>
#include "common/verb/verb.h"

#define HELP_COLUMN 30

static bool is_single(const struct verb_tool *tool)
{
	const struct verb *const *v = tool->verbs;

	return v[0] && !v[1] && !strcmp(v[0]->name, tool->name);
}

static void print_lines(const char *text, FILE *to)
{
	size_t n;

	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		fprintf(to, "%.*s\n", (int)n, text);
	}
}

/* How many bytes of a command fit on this line of `width` columns, with " \\" behind them; cut at a
 * blank where there is one. */
static size_t fitting_length(const char *text, size_t n, size_t width)
{
	size_t at = width - 2;

	if (n <= width)
		return n;
	while (at && text[at] != ' ')
		at--;
	return at ? at : n;
}

/* Commands as typed: what is too long for 80 columns goes on behind a backslash. */
static void print_commands(const char *text, FILE *to)
{
	size_t n, part;
	int indent;

	for (; *text; text += *text == '\n') {
		n = strcspn(text, "\n");
		for (indent = 2; n; indent = 6) {
			part = fitting_length(text, n, 80 - (size_t)indent);
			fprintf(to, "%*s%.*s%s\n", indent, "", (int)part, text,
				part < n ? " \\" : "");
			part += part < n; /* the blank */
			text += part;
			n -= part;
		}
	}
}

/* Text beside the options: broken at blanks to stay below 80 columns. */
static void print_wrapped(const char *text, int column, FILE *to)
{
	int at = column;
	size_t n;

	for (; *text; text += n + (text[n] == ' ')) {
		n = strcspn(text, " ");
		if (at > column && at + 1 + (int)n > 79) {
			fprintf(to, "\n%*s", column, "");
			at = column;
		}
		at += fprintf(to, "%s%.*s", at > column ? " " : "", (int)n, text);
	}
	fputc('\n', to);
}

/* Is the common option's name (or letter, where asked for) taken by the verb's own? */
static bool is_hidden(const struct verb_option *own, const char *name, char letter)
{
	for (; own && own->name; own++)
		if ((name && !strcmp(own->name, name)) || (letter && own->letter == letter))
			return true;
	return false;
}

/* Is one of the common options not hidden by the verb's own? */
static bool has_visible(const struct verb_option *common, const struct verb_option *own)
{
	for (; common && common->name; common++)
		if (!is_hidden(own, common->name, 0))
			return true;
	return false;
}

/* `own`: the options that hide some of `options`, or NULL. */
static void print_options(const struct verb_option *options, const struct verb_option *own,
			  FILE *to)
{
	int n;

	for (const struct verb_option *o = options; o && o->name; o++) {
		if (is_hidden(own, o->name, 0))
			continue;
		if (o->letter && !is_hidden(own, NULL, o->letter))
			n = fprintf(to, "  -%c, --%s", o->letter, o->name);
		else
			n = fprintf(to, "      --%s", o->name);
		if (o->arg)
			n += fprintf(to, "%s%s", o->arg[0] == '[' ? "" : " ", o->arg);
		if (n > HELP_COLUMN - 2)
			n = fprintf(to, "\n") - 1;
		fprintf(to, "%*s", HELP_COLUMN - n, "");
		print_wrapped(o->help, HELP_COLUMN, to);
	}
}

static void help_of_verb(const struct verb_tool *tool, const struct verb *v, FILE *to)
{
	fprintf(to, "Usage: %s%s%s [OPTION]...%s%s\n", tool->name, is_single(tool) ? "" : " ",
		is_single(tool) ? "" : v->name, v->args && *v->args ? " " : "",
		v->args ? v->args : "");
	fprintf(to, "%s.\n", v->help);
	if (v->details)
		fprintf(to, "\n%s\n", v->details);
	if (v->options && v->options->name) {
		fprintf(to, "\nOptions:\n");
		print_options(v->options, NULL, to);
	}
	if (has_visible(tool->common, v->options)) {
		fprintf(to, is_single(tool) && !v->options ? "\nOptions:\n"
							   : "\nOptions of every command:\n");
		print_options(tool->common, v->options, to);
	}
	if (v->examples) {
		fprintf(to, "\nExamples:\n");
		print_commands(v->examples, to);
	}
	if (tool->footer)
		fprintf(to, "\n%s\n", tool->footer);
}

static void print_verbs(const struct verb_tool *tool, FILE *to)
{
	int width = 10, n;

	for (const struct verb *const *p = tool->verbs; *p; p++) {
		n = (int)strlen((*p)->name);
		width = n > width ? n : width;
	}
	for (const struct verb *const *p = tool->verbs; *p; p++) {
		fprintf(to, "  %-*s ", width, (*p)->name);
		print_wrapped((*p)->help, width + 3, to);
	}
}

void verb_help(const struct verb_tool *tool, const struct verb *v, FILE *to)
{
	char more[160];

	if (!v && is_single(tool))
		v = tool->verbs[0];
	if (v) {
		help_of_verb(tool, v, to);
		return;
	}
	fprintf(to, "Usage: %s COMMAND [OPTION]... [ARGUMENT]...\n%s.\n\nCommands:\n",
		tool->name, tool->help);
	print_verbs(tool, to);
	if (tool->details)
		fprintf(to, "\n%s\n", tool->details);
	snprintf(more, sizeof(more),
		 "'%s help COMMAND' or '%s COMMAND --help' says more, with examples.",
		 tool->name, tool->name);
	fputc('\n', to);
	print_wrapped(more, 0, to);
	if (tool->footer)
		fprintf(to, "\n%s\n", tool->footer);
}

static bool needs_argument(const struct verb_option *o)
{
	return o->arg && o->arg[0] != '[';
}

static void option_words(const struct verb_option *options, const struct verb_option *own,
			 FILE *to)
{
	for (const struct verb_option *o = options; o && o->name; o++) {
		if (is_hidden(own, o->name, 0))
			continue;
		if (o->letter && !is_hidden(own, NULL, o->letter))
			fprintf(to, "-%c%s%s\n", o->letter, needs_argument(o) ? "=" : "",
				o->words ? o->words : "");
		fprintf(to, "--%s%s%s\n", o->name, needs_argument(o) ? "=" : "",
			o->words ? o->words : "");
	}
}

void verb_words(const struct verb_tool *tool, const struct verb *v, FILE *to)
{
	if (v) {
		option_words(v->options, NULL, to);
		option_words(tool->common, v->options, to);
		return;
	}
	for (const struct verb *const *p = tool->verbs; *p; p++)
		fprintf(to, "%s\n", (*p)->name);
}

/* ---- scdoc(5) ---- */

/* scdoc reads underscores and the like as markup, and at the start of a line those of lists and tables; each gets
 * a backslash. A dot must not begin a line at all: scdoc passes an escaped one on, and man(1) reads a macro there. */
static void print_escaped(const char *text, FILE *to)
{
	bool is_start = true;

	for (; *text; text++) {
		if (strchr("\\_*#`", *text) || (is_start && strchr("-+.[|]", *text)))
			fputc('\\', to);
		fputc(*text == '\n' && text[1] == '.' ? ' ' : *text, to);
		is_start = *text == '\n';
	}
}

static void scdoc_options(const struct verb_option *options, FILE *to)
{
	for (const struct verb_option *o = options; o && o->name; o++) {
		if (o->letter)
			fprintf(to, "*-%c*, ", o->letter);
		fprintf(to, "*--%s*", o->name);
		if (needs_argument(o))
			fprintf(to, " ");
		print_escaped(o->arg ? o->arg : "", to);
		fprintf(to, "\n\t");
		print_escaped(o->help, to);
		fprintf(to, "\n\n");
	}
}

static void scdoc_literal(const char *text, FILE *to)
{
	fprintf(to, "```\n");
	print_lines(text, to);
	fprintf(to, "```\n\n");
}

/* Paragraphs are filled to the width of the reader's screen; one with an indented line stays as it is. */
static void scdoc_paragraphs(const char *text, FILE *to)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t n = end ? (size_t)(end - text) : strlen(text);
		char *one = strndup(text, n);

		if (one && (*one == ' ' || strstr(one, "\n ")))
			scdoc_literal(one, to);
		else if (one) {
			print_escaped(one, to);
			fprintf(to, "\n\n");
		}
		free(one);
		text += n + (end ? 2 : 0);
	}
}

void verb_scdoc(const struct verb_tool *tool, FILE *to)
{
	fprintf(to, "# COMMANDS\n\n");
	for (const struct verb *const *p = tool->verbs; *p; p++) {
		const struct verb *v = *p;

		/* scdoc copies a heading as it is. */
		fprintf(to, "## %s %s %s\n\n", tool->name, v->name, v->args ? v->args : "");
		print_escaped(v->help, to);
		fprintf(to, ".\n\n");
		if (v->details)
			scdoc_paragraphs(v->details, to);
		scdoc_options(v->options, to);
		if (v->examples) {
			fprintf(to, "Examples:\n\n");
			scdoc_literal(v->examples, to);
		}
	}
	fprintf(to, "# OPTIONS OF EVERY COMMAND\n\n");
	scdoc_options(tool->common, to);
	if (tool->footer) {
		fprintf(to, "# EXIT STATUS\n\n");
		scdoc_paragraphs(tool->footer, to);
	}
}
