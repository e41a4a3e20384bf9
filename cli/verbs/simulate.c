/* SPDX-License-Identifier: GPL-2.0-or-later */
/* simulate.c - `reeve simulate`: replays a job history on a virtual clock under several policies. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"
#include "cli/simulate/chart.h"
#include "cli/simulate/files.h"
#include "cli/simulate/groups.h"
#include "cli/simulate/profile.h"
#include "common/err.h"
#include "controller/simulate/summary.h"

#define PROFILES_MAX 16
#define PATIENCE_S 2 /* from then on, progress is shown */
#define BAR_WIDTH 30

static const struct verb_option options[] = {
	{ "profile", 0, "NAME", "replay under this policy; may be given several times",
	  "fcfs easy" },
	{ "nodes", 0, "NxCORES", "the machine, such as 100x48 or 100x48,20x96", NULL },
	{ "cores", 0, "N", "the machine as one pool; default: MaxProcs of the trace", NULL },
	{ "jobs", 0, "FILE.csv", "write the times of every job", NULL },
	{ "groups", 0, "FILE.csv", "write what each group used beside its share", NULL },
	{ "accounts", 0, "FILE", "accounts.conf with the groups; default: equal shares", NULL },
	{ "format", 0, "FORMAT", "format of TRACE: swf, sacct or pbs; default: swf", NULL },
	{ "cluster", 0, "NAME", "replay jobs of this cluster; default: all of TRACE, mixed",
	  NULL },
	{ "qos", 0, "NAME", "QOS of all jobs; default: the QOS of each in TRACE", NULL },
	{ "chart", 0, "FILE.svg", "draw the waits under each profile", NULL },
	{ 0 },
};

static const struct table_column columns[] = {
	{ "profile", "PROFILE", CELL_TEXT },
	{ "jobs", "JOBS", CELL_COUNT },
	{ "rejected", "REJECTED", CELL_COUNT },
	{ "wait_mean_s", "WAIT MEAN S", CELL_FIGURE },
	{ "wait_p50_s", "-WAIT P50", CELL_SECONDS },
	{ "wait_p95_s", "WAIT P95", CELL_SECONDS },
	{ "wait_p99_s", "-WAIT P99", CELL_SECONDS },
	{ "wait_max_s", "WAIT MAX", CELL_SECONDS },
	{ "bounded_slowdown_mean", "SLOWDOWN", CELL_FIGURE },
	{ "utilisation", "UTILISATION", CELL_FIGURE },
	{ "makespan_s", "MAKESPAN", CELL_SECONDS },
	{ "suspended_s", "SUSPENDED", CELL_SECONDS },
	{ "suspensions", "-SUSPENSIONS", CELL_COUNT },
	{ "xfactor_p50", "-XFACTOR P50", CELL_FIGURE },
	{ "xfactor_p95", "-XFACTOR P95", CELL_FIGURE },
	{ "xfactor_p99", "-XFACTOR P99", CELL_FIGURE },
	{ "xfactor_max", "XFACTOR MAX", CELL_FIGURE },
	{ "xfactor_over_1_25", "OVER 1.25", CELL_COUNT },
	{ "overtaken_p95", "-OVERTAKEN P95", CELL_COUNT },
	{ "overtaken_max", "OVERTAKEN MAX", CELL_COUNT },
	{ "share_deviation_max", "SHARE DEVIATION", CELL_FIGURE },
	{ "share_deviation_mean", "-MEAN DEVIATION", CELL_FIGURE },
	{ "qos_refused", "-QOS REFUSED", CELL_COUNT },
	{ "qos_notes", "-QOS NOTES", CELL_TEXT },
	{ "bonus_jobs", "-BONUS JOBS", CELL_COUNT },
	{ "bonus_groups", "-BONUS GROUPS", CELL_COUNT },
	{ "not_simulated", "-NOT SIMULATED", CELL_TEXT },
	{ 0 },
};

struct simulate {
	struct cli *c;
	const char *path, *jobs_path, *groups_path, *chart_path, *accounts_path;
	const char *format, *qos;
	const char *profiles[PROFILES_MAX];
	size_t n_profiles, at; /* at: the profile that is replayed now */
	struct machine machine;
	struct sim_trace trace;
	struct simulate_clusters clusters; /* of the trace */
	struct sim_times *times;
	uint32_t *order;
	struct simulate_groups of_trace; /* the accounts of its groups */
	struct accounts *accounts;	 /* NULL: none are given */
	FILE *notes;			 /* for people, behind the table */
	char *notes_text;
	size_t notes_size;
	struct table *table, *groups;
	struct chart_line *lines; /* of each profile */
	struct timespec begun;
	bool has_shown;
};

static void simulate_done(struct simulate *s)
{
	sim_trace_done(&s->trace);
	table_free(s->table);
	free(s->times);
	free(s->order);
	simulate_groups_done(&s->of_trace);
	accounts_free(s->accounts);
	if (s->notes)
		fclose(s->notes);
	free(s->notes_text);
	table_free(s->groups);
	free(s->lines);
}

/* ---- progress ---- */

/* Called by the replay: `done` events of 2 for each job (its arrival and its end). */
static void show_progress(void *ctx, size_t done)
{
	struct simulate *s = ctx;
	struct timespec now;
	size_t all = 2 * s->trace.n * s->n_profiles;
	int part, of = BAR_WIDTH;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!s->c->shows_progress || now.tv_sec - s->begun.tv_sec < PATIENCE_S)
		return;
	done += 2 * s->trace.n * s->at;
	part = (int)(done * BAR_WIDTH / all);
	fprintf(stderr, "\r[%.*s%*s] %3d %% %s ", part, "##############################",
		of - part, "", (int)(done * 100 / all), s->profiles[s->at]);
	s->has_shown = true;
}

static void clear_progress(const struct simulate *s)
{
	if (s->has_shown)
		fputs("\r\033[K", stderr);
}

/* ---- figures ---- */

static void put_waits(struct table *t, const struct sim_summary *s)
{
	table_decimal(t, "wait_mean_s", 3, s->wait_mean_s);
	table_int(t, "wait_p50_s", s->wait_s.p50);
	table_int(t, "wait_p95_s", s->wait_s.p95);
	table_int(t, "wait_p99_s", s->wait_s.p99);
	table_int(t, "wait_max_s", s->wait_s.max);
	table_decimal(t, "bounded_slowdown_mean", 3, s->bounded_slowdown_mean);
	table_int(t, "overtaken_p95", s->overtaken.p95);
	table_int(t, "overtaken_max", s->overtaken.max);
}

static void put_suspensions(struct table *t, const struct sim_summary *s)
{
	table_int(t, "suspended_s", s->suspended_s);
	table_int(t, "suspensions", s->suspensions);
	table_decimal(t, "xfactor_p50", 3, (double)s->xfactor_milli.p50 / 1000);
	table_decimal(t, "xfactor_p95", 3, (double)s->xfactor_milli.p95 / 1000);
	table_decimal(t, "xfactor_p99", 3, (double)s->xfactor_milli.p99 / 1000);
	table_decimal(t, "xfactor_max", 3, (double)s->xfactor_milli.max / 1000);
	table_int(t, "xfactor_over_1_25", (int64_t)s->xfactor_over);
}

/* What QOS refuse, or a replay cannot simulate of them: texts with counts of jobs, in the table and
 * for people below it. */
static void put_qos_notes(const struct simulate *s, const struct simulate_qos *q)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to = q->n_notes ? open_memstream(&text, &size) : NULL;

	if (q->refused)
		table_int(s->table, "qos_refused", q->refused);
	for (size_t i = 0; i < q->n_notes && to; i++) {
		fprintf(to, "%s%s: %" PRId64 " job%s", i ? "; " : "", q->notes[i].text,
			q->notes[i].jobs, q->notes[i].jobs == 1 ? "" : "s");
		cli_put(s->notes, s->profiles[s->at]);
		fputs(": ", s->notes);
		cli_put(s->notes, q->notes[i].text);
		fprintf(s->notes, ": %" PRId64 " job%s\n", q->notes[i].jobs,
			q->notes[i].jobs == 1 ? "" : "s");
	}
	if (to && fclose(to) == 0)
		table_text(s->table, "qos_notes", text);
}

/* Which jobs were in bonus, or that quotas are not simulated. */
static void put_grants(const struct simulate *s, const struct simulate_grants *g)
{
	if (g->is_simulated) {
		table_int(s->table, "bonus_jobs", g->count.jobs);
		table_int(s->table, "bonus_groups", g->count.groups);
	}
	if (*g->why)
		table_text(s->table, "not_simulated", g->why);
	if (!g->is_simulated && !*g->why)
		return;
	cli_put(s->notes, s->profiles[s->at]);
	if (g->is_simulated)
		fprintf(s->notes,
			": in bonus, as their grant did not cover them: %" PRId64
			" job%s of %" PRId64 " account%s\n",
			g->count.jobs, g->count.jobs == 1 ? "" : "s", g->count.groups,
			g->count.groups == 1 ? "" : "s");
	else
		fprintf(s->notes, ": %s\n", g->why);
}

static void add_row(const struct simulate *s, const struct sim_summary *sum,
		    const struct simulate_profile *site)
{
	const struct simulate_qos *q = &site->qos;
	struct table *t = s->table;

	table_row(t);
	table_text(t, "profile", s->profiles[s->at]);
	table_int(t, "jobs", (int64_t)sum->jobs);
	table_int(t, "rejected", sim_trace_rejected(&s->trace) + q->refused);
	table_int(t, "makespan_s", sum->makespan_s);
	table_decimal(t, "utilisation", 6, sum->utilisation);
	put_waits(t, sum);
	put_suspensions(t, sum);
	table_decimal(t, "share_deviation_max", 6, sum->deviation_max);
	table_decimal(t, "share_deviation_mean", 6, sum->deviation_mean);
	put_qos_notes(s, q);
	put_grants(s, &site->grants);
}

/* ---- a replay ---- */

static int write_jobs(const struct simulate *s, const struct sim_replay *r, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	int code;

	if (!s->jobs_path)
		return 0;
	if (s->n_profiles == 1)
		return simulate_write_jobs(s->jobs_path, r, err);
	code = simulate_name_file(s->jobs_path, s->profiles[s->at], &path, err);
	return code < 0 ? code : simulate_write_jobs(path, r, err);
}

/* The policy of the current profile: a baseline, or a site's profile. The latter may leave jobs of
 * the trace out (site->trace). */
static int open_policy(const struct simulate *s, struct simulate_profile *site,
		       struct sim_policy *ret, struct err *err)
{
	const char *name = s->profiles[s->at];
	const struct simulate_profile_ask ask = { name,
						  &s->machine,
						  s->accounts,
						  &s->trace,
						  s->qos,
						  &s->of_trace,
						  simulate_clusters_one(&s->clusters) };
	int r = sim_baseline_new(name, &s->trace, s->machine.cores, ret);

	if (r != -ENOENT)
		return r < 0 ? err_set(err, r, "out of memory") : 0;
	r = simulate_profile_load(&ask, site, err);
	if (r == -ENOENT)
		return err_prefix(err, r, "fcfs and easy are built in");
	if (r < 0)
		return r;
	return sim_profile_new(&site->policy, site->trace, ret, err);
}

/* Adds the row of a finished replay, and writes its files. */
static int put_replay(struct simulate *s, const struct sim_replay *replay,
		      const struct simulate_profile *site, struct err *err)
{
	struct chart_line *line = &s->lines[s->at];
	int64_t bounds[CHART_POINTS];

	line->name = s->profiles[s->at];
	if (sim_summarise(replay, &line->sum) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	add_row(s, &line->sum, site);
	if (s->groups)
		simulate_groups_add(s->groups, s->profiles[s->at], &s->of_trace, replay->fair);
	simulate_chart_bounds(bounds);
	if (s->chart_path)
		sim_count_waits(replay, bounds, CHART_POINTS, line->counts);
	return write_jobs(s, replay, err);
}

static int replay_profile(struct simulate *s, struct err *err)
{
	_cleanup_(simulate_profile_done) struct simulate_profile site = { 0 };
	_cleanup_(sim_fairness_freep) struct sim_fairness *fair = NULL;
	_cleanup_(sim_policy_done) struct sim_policy policy = { 0 };
	struct sim_replay replay = { .cores = s->machine.cores,
				     .policy = &policy,
				     .times = s->times,
				     .order = s->order,
				     .on_progress = show_progress,
				     .ctx = s };
	int r = open_policy(s, &site, &policy, err);

	if (r < 0)
		return r;
	replay.trace = site.trace ? site.trace : &s->trace;
	if (sim_fairness_new(s->of_trace.n, s->of_trace.shares, &fair) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	replay.fair = fair;
	replay.fair_of = s->of_trace.fair_of;
	r = sim_replay_run(&replay, err);
	if (r < 0)
		return err_prefix(err, r, "%s", s->profiles[s->at]);
	return put_replay(s, &replay, &site, err);
}

static int replay_all(struct simulate *s, struct err *err)
{
	size_t n = s->trace.n ? s->trace.n : 1;
	int r = 0;

	s->times = malloc(n * sizeof(*s->times));
	s->order = malloc(n * sizeof(*s->order));
	s->lines = calloc(s->n_profiles, sizeof(*s->lines));
	if (!s->times || !s->order || !s->lines)
		return err_set(err, -ENOMEM, "out of memory");
	for (s->at = 0; r == 0 && s->at < s->n_profiles; s->at++)
		r = replay_profile(s, err);
	clear_progress(s);
	return r;
}

static int draw_chart(const struct simulate *s, struct err *err)
{
	const char *slash = strrchr(s->path, '/');
	const struct chart c = { .trace = slash ? slash + 1 : s->path,
				 .cores = s->machine.cores,
				 .lines = s->lines,
				 .n_lines = s->n_profiles };

	return s->chart_path ? simulate_chart_write(s->chart_path, &c, err) : 0;
}

/* ---- options ---- */

static int add_profile(struct simulate *s, const char *name, struct err *err)
{
	size_t size, other;
	const char *word = simulate_profile_word(name, &size);

	for (size_t i = 0; i < s->n_profiles; i++)
		if (!strncmp(simulate_profile_word(s->profiles[i], &other), word, size) &&
		    other == size)
			return err_set(err, -EINVAL,
				       "--profile %.80s: another profile has this name already",
				       name);
	if (s->n_profiles == PROFILES_MAX)
		return err_set(err, -EINVAL, "--profile: at most %d at a time", PROFILES_MAX);
	s->profiles[s->n_profiles++] = name;
	return 0;
}

/* Without --profile the two baselines. -EINVAL: --qos where no site's profile could use it. */
static int read_profiles(struct simulate *s, const struct verb_call *call, struct err *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < call->n_given; i++)
		if (!strcmp(call->given[i].option->name, "profile"))
			r = add_profile(s, call->given[i].value, err);
	if (r == 0 && !s->n_profiles)
		r = add_profile(s, "fcfs", err);
	if (r == 0 && s->n_profiles == 1 && !verb_value(call, "profile"))
		r = add_profile(s, "easy", err);
	for (size_t i = 0; r == 0 && s->qos && i < s->n_profiles; i++)
		if (strcmp(s->profiles[i], "fcfs") && strcmp(s->profiles[i], "easy"))
			return 0;
	if (r == 0 && s->qos)
		r = err_set(err, -EINVAL,
			    "--qos needs a site's --profile: fcfs and easy have no QOS");
	return r;
}

/* Where neither --nodes nor --cores is given the machine stays empty: load_trace() takes it from the trace's header. */
static int read_words(struct simulate *s, const struct verb_call *call, struct err *err)
{
	const char *nodes = verb_value(call, "nodes"), *cores = verb_value(call, "cores");

	s->path = call->args[0];
	s->jobs_path = verb_value(call, "jobs");
	s->chart_path = verb_value(call, "chart");
	s->groups_path = verb_value(call, "groups");
	s->accounts_path = verb_value(call, "accounts");
	s->qos = verb_value(call, "qos");
	s->clusters.only = verb_value(call, "cluster");
	s->format = verb_value(call, "format") ? verb_value(call, "format") : "swf";
	if (nodes && cores)
		return err_set(err, -EINVAL,
			       "give the machine by --nodes or by --cores, not by both");
	if (nodes)
		return machine_parse_nodes(nodes, &s->machine, err);
	return cores ? machine_parse_cores(cores, &s->machine, err) : 0;
}

/* ---- the whole ---- */

/* The share tree needs the trace's groups, so accounts are read after it. */
static int load_trace(struct simulate *s, struct err *err)
{
	int r;

	sim_trace_init(&s->trace);
	r = simulate_read_trace(&(struct simulate_source){ s->path, s->format, &s->clusters },
				&s->trace, err);
	if (r < 0)
		return r;
	if (!s->machine.cores)
		s->machine.cores = s->machine.largest = s->trace.max_procs;
	if (s->machine.cores < 0)
		return err_set(err, -EINVAL,
			       "%.200s: no '; MaxProcs:' header tells the size of the "
			       "machine; give it by --nodes NxCORES or --cores N",
			       s->path);
	sim_trace_finish(&s->trace, s->machine.largest);
	if (s->groups_path)
		r = simulate_groups_new(&s->groups, err);
	if (r == 0 && s->accounts_path)
		r = accounts_read(s->accounts_path, &s->accounts, err);
	if (r == 0)
		r = simulate_groups_open(s->accounts, s->accounts_path, &s->trace, &s->of_trace,
					 err);
	return r;
}

static void put_notes(const struct simulate *s)
{
	static const char *const keys[] = {
		[SIM_NO_RUN_TIME] = "rejected_no_run_time",
		[SIM_NO_CORES] = "rejected_no_cores",
		[SIM_TOO_LARGE] = "rejected_too_large",
		[SIM_NO_SUBMIT] = "rejected_no_submit_time",
		[SIM_OUT_OF_RANGE] = "rejected_out_of_range",
		[SIM_GARBAGE] = "rejected_garbage",
		[SIM_PART] = "rejected_partial_execution",
	};

	char mixed[SIMULATE_CLUSTERS_TEXT_MAX];

	_Static_assert(ARRAY_LEN(keys) == _SIM_WHY_MAX && _SIM_WHY_MAX + 5 <= TABLE_NOTES_MAX,
		       "a key a reason");
	table_note_int(s->table, "cores", s->machine.cores);
	for (int i = 0; i < _SIM_WHY_MAX; i++)
		if (s->trace.rejected[i])
			table_note_int(s->table, keys[i], s->trace.rejected[i]);
	if (s->trace.disordered)
		table_note_int(s->table, "disordered", s->trace.disordered);
	if (s->trace.with_gpus)
		table_note_int(s->table, "gpu_jobs_by_cores", s->trace.with_gpus);
	if (*simulate_clusters_mixed(&s->clusters, mixed))
		table_note(s->table, "clusters_mixed", mixed);
	if (s->clusters.left_out)
		table_note_int(s->table, "other_clusters", s->clusters.left_out);
}

/* For people: what was left out, and why. */
static void print_rejected(struct simulate *s)
{
	const struct sim_trace *t = &s->trace;
	char mixed[SIMULATE_CLUSTERS_TEXT_MAX];

	if (s->c->format.output != TABLE_TABLE)
		return;
	if (*simulate_clusters_mixed(&s->clusters, mixed)) {
		fputs("jobs of several clusters, mixed on one machine (--cluster NAME replays "
		      "one): ",
		      s->c->format.to);
		cli_put(s->c->format.to, mixed);
		fputc('\n', s->c->format.to);
	}
	if (s->clusters.left_out)
		fprintf(s->c->format.to, "left out, of other clusters: %" PRId64 "\n",
			s->clusters.left_out);
	if (fflush(s->notes) == 0 && s->notes_text) /* put_qos_notes() escaped it */
		fputs(s->notes_text, s->c->format.to);
	if (t->with_gpus)
		fprintf(s->c->format.to,
			"GPUs are not simulated; jobs with GPUs that count by their cores: %" PRId64
			"\n",
			t->with_gpus);
	for (enum sim_why w = 0; w < _SIM_WHY_MAX; w++)
		if (t->rejected[w])
			fprintf(s->c->format.to, "rejected, %s: %" PRId64 "\n", sim_why_name(w),
				t->rejected[w]);
	if (t->disordered)
		fprintf(s->c->format.to, "out of order, and sorted: %" PRId64 "\n",
			t->disordered);
}

static int run_simulate(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(simulate_done) struct simulate s = { .c = ctx };
	int r = cli_begin_offline(s.c, call, err);

	setlocale(LC_NUMERIC, "C"); /* programs read the output */
	s.notes = open_memstream(&s.notes_text, &s.notes_size);
	if (r == 0 && !s.notes)
		r = err_set(err, -ENOMEM, "out of memory");
	clock_gettime(CLOCK_MONOTONIC, &s.begun);
	if (r == 0)
		r = read_words(&s, call, err);
	if (r == 0)
		r = read_profiles(&s, call, err);
	if (r == 0)
		r = table_new("profiles", columns, &s.table, err);
	if (r == 0)
		r = load_trace(&s, err);
	if (r == 0)
		r = replay_all(&s, err);
	if (r == 0)
		r = draw_chart(&s, err);
	if (r == 0 && s.groups)
		r = simulate_groups_write(s.groups_path, s.groups, err);
	if (r < 0)
		return r;
	put_notes(&s);
	r = table_print(s.table, &s.c->format, err);
	if (r == 0)
		print_rejected(&s);
	return r;
}

const struct verb cli_verb_simulate = {
	.name = "simulate",
	.args = "TRACE",
	.help = "Replay a job history under several policies and compare them",
	.details =
		"Needs no controller. TRACE is a file in the Standard Workload Format, or with\n"
		"--format what sacct prints or PBS logs, plain or compressed by gzip. Its jobs\n"
		"are submitted at their times and run as long as they did on as many cores, on a\n"
		"machine of --nodes, of --cores, or of as many cores as the file says; their\n"
		"walltimes are those that were requested. Only the order of starts differs:\n"
		"\n"
		"  fcfs  no job starts before an earlier one\n"
		"  easy  backfill: a later job may start first when that does not delay the\n"
		"        job at the head of the queue\n"
		"\n"
		"Any other NAME is a site's profile, a shipped one or a file, as for 'reeve\n"
		"cost': its weights, shares and scheduler order and start the jobs, by the code\n"
		"that schedules a live cluster. Groups of the trace are its accounts. A [Qos\n"
		"NAME] of the profile applies to jobs whose history names it: its priority and\n"
		"factor, what a user may run at once, which accounts may use it. Jobs that it\n"
		"refuses and limits that cannot be simulated are listed with counts.\n"
		"\n"
		"Without --profile, fcfs and easy are shown. Lines that cannot be jobs are left\n"
		"out and counted; a file out of order is sorted. The same input gives the same\n"
		"output, byte by byte. With more than one profile, --jobs a.csv writes\n"
		"a.PROFILE.csv. docs/simulate.md has the definitions of the figures.",
	.examples = "reeve simulate HPC2N.swf.gz\n"
		    "reeve simulate HPC2N.swf.gz --profile easy --nodes 120x2 --json\n"
		    "reeve simulate CEA.swf.gz --profile easy --profile bmrc --chart cea.svg\n"
		    "reeve simulate CEA.swf.gz --profile easy --jobs easy.csv",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_simulate,
};
