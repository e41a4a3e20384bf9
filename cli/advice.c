/* advice.c - see advice.h. */
#include <stdio.h>
#include <string.h>
#include "cli/advice.h"
#include "common/model/amount.h"

#define GIB (1LL << 30)
#define MIB (1LL << 20)
#define S_NS 1000000000LL

/* A fifth more, without overflow for any amount. */
static int64_t with_margin(int64_t v)
{
	return v > INT64_MAX / 2 ? v : v + v / 5;
}

static int64_t round_up(int64_t v, int64_t step)
{
	return v > INT64_MAX - step ? v : (v + step - 1) / step * step;
}

/* Whole GiB above 4 GiB, else steps of 256 MiB, 16 MiB, 1 MiB. */
static int64_t round_bytes(int64_t v)
{
	return round_up(v, v > 4 * GIB	   ? GIB
			   : v > GIB	   ? 256 * MIB
			   : v > 256 * MIB ? 16 * MIB
					   : MIB);
}

static int64_t round_seconds(int64_t v)
{
	return round_up(v, v > 36000 ? 3600 : v > 3600 ? 600 : 60);
}

static void add(char buf[static ADVICE_MAX], const char *name, const char *amount)
{
	size_t n = strlen(buf);

	snprintf(buf + n, ADVICE_MAX - n, "%s%s=%s", n ? "," : "", name, amount);
}

static void add_bytes(char buf[static ADVICE_MAX], const char *name, int64_t bytes)
{
	char amount[AMOUNT_TEXT_MAX];

	add(buf, name, amount_format_bytes_exact(round_bytes(with_margin(bytes)), amount));
}

static void add_seconds(char buf[static ADVICE_MAX], int64_t s)
{
	char amount[AMOUNT_TEXT_MAX];

	add(buf, "walltime", amount_format_seconds(round_seconds(with_margin(s)), amount));
}

/* A limit was reached: how much more to ask for. The excess that was seen is a lower bound of
 * the need, hence "at least". */
static const char *more(const struct advice_facts *f, char buf[static ADVICE_MAX])
{
	const struct reason *r = &f->end->reason;
	int64_t need = r->reached > r->requested ? r->reached : r->requested;
	char list[ADVICE_MAX] = "";

	if (need <= 0)
		return buf;
	if (r->limit == LIMIT_VMEM || r->limit == LIMIT_MEM || r->limit == LIMIT_JOBFS)
		add_bytes(list, limit_kind_name(r->limit), need);
	else if (r->limit == LIMIT_WALLTIME)
		add_seconds(list, need);
	else
		return buf;
	snprintf(buf, ADVICE_MAX, "next time request more %s: at least -l %.*s",
		 limit_kind_name(r->limit), ADVICE_MAX - 64, list);
	return buf;
}

static void less_cores(const struct advice_facts *f, char list[static ADVICE_MAX])
{
	int64_t ncpus = f->requested->ncpus, cores;
	char amount[32];

	if (!usage_has(f->usage, &f->usage->cpu_ns))
		return;
	/* Busy cores on average, rounded up to whole ones; a tenth of one is noise. */
	cores = (f->usage->cpu_ns + f->running_ns * 9 / 10) / f->running_ns;
	if (cores < 1)
		cores = 1;
	if (ncpus - cores < 1 || cores * 2 > ncpus)
		return;
	snprintf(amount, sizeof(amount), "%lld", (long long)cores);
	add(list, "ncpus", amount);
}

static const char *less(const struct advice_facts *f, char buf[static ADVICE_MAX])
{
	const struct resources *r = f->requested;
	const struct usage *u = f->usage;
	int64_t s = f->running_ns / S_NS;
	char list[ADVICE_MAX] = "";

	less_cores(f, list);
	if (usage_has(u, &u->vmem_peak_bytes) && u->vmem_peak_bytes < r->vmem_bytes / 2 &&
	    r->vmem_bytes - u->vmem_peak_bytes >= GIB)
		add_bytes(list, "vmem", u->vmem_peak_bytes);
	if (usage_has(u, &u->jobfs_peak_bytes) && u->jobfs_peak_bytes < r->jobfs_bytes / 2 &&
	    r->jobfs_bytes - u->jobfs_peak_bytes >= 10 * GIB)
		add_bytes(list, "jobfs", u->jobfs_peak_bytes > MIB ? u->jobfs_peak_bytes : MIB);
	if (s < r->walltime_s / 4 && r->walltime_s - s >= 3600)
		add_seconds(list, s);
	if (list[0])
		snprintf(buf, ADVICE_MAX, "next time -l %.*s would do", ADVICE_MAX - 32, list);
	return buf;
}

const char *advice_format(const struct advice_facts *f, char buf[static ADVICE_MAX])
{
	buf[0] = '\0';
	if (f->end->kind == END_LIMIT)
		return more(f, buf);
	if (f->end->kind != END_EXITED || f->end->exit_status != 0 || f->running_ns < 60 * S_NS)
		return buf;
	return less(f, buf);
}
