/* cli - what every verb of `reeve` uses: printing, and requests to the controller. */
#pragma once
#include <jansson.h>
#include "cli/client/config.h"
#include "cli/output/table.h"
#include "common/http/http.h"
#include "common/model/array.h"
#include "common/verb/verb.h"

struct err;
struct sd_event;

/* Exit codes, as every --help says them. */
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
	struct sd_event *event;
	struct http *http;
	bool talks;    /* stderr is a terminal: progress may be shown */
	int exit_code; /* of a verb whose run() returns 0 */
};

/* Read the common options and the configuration; first thing of a verb that asks the
 * controller. */
int cli_begin(struct cli *c, const struct verb_call *call, struct err *err);
/* The common options only: for a verb that needs no controller. */
int cli_begin_offline(struct cli *c, const struct verb_call *call, struct err *err);
/* A further connection, attached to c->event. */
int cli_connect(const struct cli *c, struct http **ret, struct err *err);
void cli_done(struct cli *c);
/* Signs a statement (common/signature/signature.h) for root of the nodes alone, and puts it
 * into a body as "credential". */
int cli_seal(const struct cli *c, const char *statement, json_t *body, struct err *err);

/* One exchange. *ret_answer is an object with the right schema. Errors, as everywhere in cli/:
 * -EINVAL usage; -EHOSTUNREACH no answer; -ENOENT no such thing, or not yours; -EPERM not
 * permitted; anything else: refused or failed. */
int cli_ask(struct cli *c, struct http_call call, json_t **ret_answer, struct err *err);
/* http_exchange()'s and http_done_fn's result as such an error. */
int cli_result(int result);
enum cli_exit cli_exit_code(int error);
/* "reeve VERB: ..." on stderr, fit for a terminal. */
void cli_complain(const char *verb, const struct err *err);

/* A document for programs: json as it came, indented, csv and raw as rows of
 * key and value with keys as paths. Not for --output table. */
int cli_print_document(const struct cli *c, const json_t *doc, struct err *err);

/* "KEY=VALUE" behind ? or &, escaped; nothing when value is NULL. *path is malloc()ed. */
int cli_query(char **path, const char *key, const char *value, struct err *err);
/* Puts "job N: " before words that do not name the job themselves; returns r. */
int cli_name_job(struct job_id id, int r, struct err *err);
/* A job number as typed. -EINVAL. */
int cli_parse_job(const char *text, int64_t *ret, struct err *err);
/* The same, or an element of an array: "12[7]". */
int cli_parse_job_id(const char *text, struct job_id *ret, struct err *err);

/* Typed reads of an answer, for showing it: what is absent or of another type is NULL / `def`.
 */
const char *cli_text(const json_t *j, const char *key);
int64_t cli_int(const json_t *j, const char *key, int64_t def);
/* Print text of the answer, escaped. */
void cli_put(FILE *to, const char *text);

extern const struct verb cli_verb_submit, cli_verb_run, cli_verb_exec, cli_verb_jobs,
	cli_verb_job, cli_verb_why, cli_verb_cancel, cli_verb_suspend, cli_verb_hold,
	cli_verb_release, cli_verb_nice, cli_verb_resume, cli_verb_nodes, cli_verb_usage,
	cli_verb_cost, cli_verb_quota, cli_verb_window, cli_verb_admin, cli_verb_fairshare,
	cli_verb_share, cli_verb_prio, cli_verb_import, cli_verb_eff, cli_verb_simulate,
	cli_verb_help;
