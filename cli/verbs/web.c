/* SPDX-License-Identifier: GPL-2.0-or-later */
/* web.c - `reeve web`: gets a link for the pages, prints it, and opens it in a browser where there is one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/cli.h"
#include "common/err.h"
#include "common/replace_file.h"
#include "common/wire/wire.h"

#define PAGE                                                                                   \
	"<!DOCTYPE html><meta charset=utf-8><title>Reeve</title>"                              \
	"<meta name=referrer content=no-referrer>"                                             \
	"<meta http-equiv=refresh content=\"0; url=%s\"><a href=\"%s\">Reeve</a>\n"

/* A browser that this session can show: $BROWSER, or the desktop's. Never as root, which has no desktop of its own. */
static const char *find_opener(void)
{
	const char *browser = getenv("BROWSER");

	if (geteuid() == 0 || !isatty(STDOUT_FILENO))
		return NULL;
	if (browser && *browser)
		return browser;
	return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") ? "xdg-open" : NULL;
}

/* A page in the user's own run directory that leads to the link: others see the browser's arguments, so the link is not an argument. The
 * next call replaces the page; its link is valid for two minutes. -EINVAL: the link has characters that HTML gives a
 * meaning. -ENOENT: there is no such directory. */
static int write_page(const char *link, char **ret_path, struct err *err)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/?=.-_[]";
	const char *dir = getenv("XDG_RUNTIME_DIR");
	_cleanup_free_ char *path = NULL, *text = NULL;
	struct stat st;
	int r;

	if (!dir || *dir != '/' || stat(dir, &st) < 0 || st.st_uid != geteuid() ||
	    (st.st_mode & 077) != 0)
		return err_set(err, -ENOENT,
			       "XDG_RUNTIME_DIR names no directory of yours alone");
	if (link[strspn(link, plain)])
		return err_set(err, -EINVAL, "the link has characters that no link needs");
	if (asprintf(&path, "%s/reeve-web.html", dir) < 0 ||
	    asprintf(&text, PAGE, link, link) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	unlink(path); /* a file that is there would pass its mode on */
	r = replace_file(
		&(struct replace_file){
			.path = path, .text = text, .size = strlen(text), .is_private = true },
		err);
	if (r >= 0)
		*ret_path = TAKE_PTR(path);
	return r;
}

static void open_link(const char *opener, const char *link)
{
	_cleanup_free_ char *page = NULL;
	struct err err;
	pid_t pid;
	int status;

	if (write_page(link, &page, &err) < 0) {
		fprintf(stderr,
			"reeve web: no browser is opened: %s: copy the link to a browser\n",
			err.text);
		return;
	}
	pid = fork();
	if (pid == 0) {
		execlp(opener, opener, page, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		fprintf(stderr, "reeve web: %s did not open it: copy the link to a browser\n",
			opener);
}

static int open_pages(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_json_ json_t *body = wire_new();
	_cleanup_free_ char *link = NULL;
	struct cli *c = ctx;
	const char *path, *opener;
	int r = cli_begin(c, call, err);

	if (r == 0)
		r = cli_ask(c,
			    (struct http_call){
				    .method = "POST", .path = "/v1/web/tickets", .body = body },
			    &answer, err);
	if (r < 0)
		return r;
	path = cli_text(answer, "path");
	if (!path)
		return err_set(err, -EPROTO, "the answer has no path");
	if (asprintf(&link, "%s%s", c->config.controller, path) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (c->format.output != TABLE_TABLE) {
		if (json_object_set_new(answer, "url", wire_string(link)) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		return cli_print_document(c, answer, err);
	}
	cli_put(stdout, link);
	fputc('\n', stdout);
	opener = verb_value(call, "print") ? NULL : find_opener();
	if (opener)
		open_link(opener, link);
	return 0;
}

static const struct verb_option options[] = {
	{ "print", 0, NULL, "print the link only; open no browser", NULL },
	{ 0 },
};
const struct verb cli_verb_web = {
	.name = "web",
	.args = "",
	.help = "Open the pages of your jobs and accounts in a browser",
	.details =
		"Prints a link and opens it where a browser can be shown, by a page in\n"
		"XDG_RUNTIME_DIR, since others see command lines. The link is for one use,\n"
		"within two minutes; the session that its button opens ends after 12 hours, or\n"
		"with 'leave' on the page. Pages show what the commands show, with the same\n"
		"rights. From a machine without a browser, copy the link to one that reaches\n"
		"the controller; through ssh: ssh -L 8640:CONTROLLER:8640 HOST, and\n"
		"http://localhost:8640 in the place of the controller's address.",
	.examples = "reeve web\nreeve web --print",
	.options = options,
	.run = open_pages,
};
