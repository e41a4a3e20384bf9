/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli - what every verb of `reeve` uses: its context, requests to the controller, exit codes,
 * and printing of answers.
 */
#pragma once
#include <jansson.h>
#include "cli/client/config.h"
#include "cli/output/table.h"
#include "common/http/http.h"
#include "common/model/array.h"
#include "common/verb/verb.h"

struct err;
struct sd_event;

/* Exit codes; the footer of every --help lists them. */
enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_UNREACHABLE = 3,
	CLI_NOT_FOUND = 4,
	CLI_NOT_PERMITTED = 5,
};

struct cli {
	const struct verb_tool *tool;
	struct cli_config config;
	struct table_format format;
	struct sd_event *event; /* NULL: the verb has none; see cli_begin_loop() */
	struct http *http;
	bool shows_progress; /* stderr is a terminal: progress may be shown */
	bool shows_hints; /* a person reads a table: output and stderr are terminals, and the header is printed */
	int exit_code; /* of a verb whose run() returns 0 */
};

/* Reads the common options and the configuration, and opens a connection: the first call of a
 * verb that needs the controller. main() calls cli_done(), also after an error. */
int cli_begin(struct cli *c, const struct verb_call *call, struct err *err);
/* The same for a verb that runs an event loop, c->event: its requests are made in that. Loads more libraries. */
int cli_begin_loop(struct cli *c, const struct verb_call *call, struct err *err);
/* Reads the common options only: for a verb that needs no controller. */
int cli_begin_offline(struct cli *c, const struct verb_call *call, struct err *err);
/* Opens a further connection, attached to c->event where there is one. The caller closes it. */
int cli_connect(const struct cli *c, struct http **ret, struct err *err);
void cli_done(struct cli *c);
/* Signs a statement (common/signature/signature.h) by munge, readable by root (of the nodes)
 * alone, and stores it in a body as "credential". */
int cli_seal(const struct cli *c, const char *statement, json_t *body, struct err *err);
/* The same as a text, malloc()ed. */
int cli_seal_text(const struct cli *c, const char *statement, char **ret, struct err *err);

/* Waits so long; where there is an event loop, serves it, and returns after one event at the latest. */
int cli_pause(struct cli *c, int64_t us, struct err *err);
/* One request and its answer; where there is an event loop it is run until then. *ret_answer is an object with the
 * right schema, which the caller frees. Errors, as everywhere in cli/: -EINVAL wrong usage;
 * -EHOSTUNREACH no answer; -ENOENT not found, or not the caller's; -EPERM not permitted; others:
 * refused or failed. Sets TZ to the zone that the answer names. */
int cli_ask(struct cli *c, struct http_call call, json_t **ret_answer, struct err *err);
int cli_get(struct cli *c, const char *path, json_t **ret_answer, struct err *err);
/* The same of an answer that came otherwise: sets TZ to the zone that it names. */
void cli_set_time_zone(const json_t *answer);
/* Maps the result that http_done_fn gets (an HTTP status or -errno) to such an error. */
int cli_result(int result);
enum cli_exit cli_exit_code(int error);
/* Prints "reeve VERB: ..." on stderr, escaped for a terminal. */
void cli_complain(const char *verb, const struct err *err);

/* Prints a document for programs: as JSON, or as rows of key and value, where a key is a path
 * ("job.usage.cpu_ns"). Not for --output table. */
int cli_print_document(const struct cli *c, const json_t *doc, struct err *err);

/* Appends "?KEY=VALUE" or "&KEY=VALUE" with VALUE escaped; nothing when value is NULL. *path is
 * malloc()ed and may be replaced. */
int cli_query(char **path, const char *key, const char *value, struct err *err);
/* Puts "job N: " before an error text that does not name the job itself; returns r. */
int cli_name_job(struct job_id id, int r, struct err *err);
/* Parses a job number. -EINVAL. */
int cli_parse_job(const char *text, int64_t *ret, struct err *err);
/* Parses a job number or an array task: "12[7]". -EINVAL. */
int cli_parse_job_id(const char *text, struct job_id *ret, struct err *err);

/* Read a value of an answer: NULL or `def` where it is absent or of another type; NULL also for
 * an empty text. The text belongs to j. */
const char *cli_text(const json_t *j, const char *key);
int64_t cli_int(const json_t *j, const char *key, int64_t def);
/* Adds a row whose cells are the values of j under the columns' names; an absent one stays unset. */
void cli_add_row(struct table *t, const struct table_column *columns, const json_t *j);
/* Prints untrusted text, escaped for a terminal. */
void cli_put(FILE *to, const char *text);
/* The same within a line: line ends and tabs are escaped too. */
void cli_put_line(FILE *to, const char *text);

extern const struct verb cli_verb_submit, cli_verb_run, cli_verb_exec, cli_verb_jobs,
	cli_verb_job, cli_verb_why, cli_verb_cancel, cli_verb_suspend, cli_verb_hold,
	cli_verb_release, cli_verb_nice, cli_verb_resume, cli_verb_nodes, cli_verb_usage,
	cli_verb_cost, cli_verb_quota, cli_verb_window, cli_verb_admin, cli_verb_fairshare,
	cli_verb_share, cli_verb_prio, cli_verb_import, cli_verb_eff, cli_verb_simulate,
	cli_verb_web, cli_verb_top, cli_verb_alloc, cli_verb_attach, cli_verb_help,
	cli_verb_admin_help, cli_verb_accounts_help, cli_verb_storage_help,
	cli_verb_outage_help;
