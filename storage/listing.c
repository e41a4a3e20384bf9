/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listing.c - splits lines into words or fields, and takes names, kinds and amounts of KiB from them; see listing.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "storage/listing.h"

#define KIB 1024

/* A part of a line. */
struct word {
	const char *at;
	size_t n;
};

const char *listing_kind_name(enum listing_kind k)
{
	static const char *const names[] = { [LISTING_USER] = "user",
					     [LISTING_GROUP] = "group",
					     [LISTING_PROJECT] = "project",
					     [LISTING_FILESET] = "fileset" };

	return names[k];
}

static bool is_word(struct word w, const char *text)
{
	return w.n == strlen(text) && !memcmp(w.at, text, w.n);
}

static bool starts_with(const char *line, const char *text)
{
	return !strncmp(line, text, strlen(text));
}

/* The words between blanks, at most `max` of them; returns how many there are. */
static int split_words(const char *line, struct word *ret, int max)
{
	int n = 0;

	for (const char *p = line; *(p += strspn(p, " \t")); p += strcspn(p, " \t"))
		if (n++ < max)
			ret[n - 1] = (struct word){ p, strcspn(p, " \t") };
	return n;
}

/* From the first byte that is no blank up to `end`, without blanks before that. */
static struct word trim_text(const char *from, const char *end)
{
	from += strspn(from, " \t");
	while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return (struct word){ from, end > from ? (size_t)(end - from) : 0 };
}

static int copy_name(struct word w, char to[static LISTING_NAME_MAX], struct err *err)
{
	if (w.n >= LISTING_NAME_MAX)
		return err_set(err, -EINVAL, "a name of more than %d bytes",
			       LISTING_NAME_MAX - 1);
	memcpy(to, w.at, w.n);
	to[w.n] = '\0';
	return 0;
}

/* Digits alone. */
static int read_number(struct word w, int64_t *ret)
{
	int64_t n = 0;

	if (!w.n)
		return -EINVAL;
	for (size_t i = 0; i < w.n; i++)
		if (w.at[i] < '0' || w.at[i] > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, w.at[i] - '0', &n))
			return -EINVAL;
	*ret = n;
	return 0;
}

/* A name of digits, with or without "#", is an id that has no name. */
static int take_name(struct listing_row *row, struct word w, struct err *err)
{
	bool is_id = w.n > 1 && *w.at == '#';
	struct word digits = { w.at + is_id, w.n - is_id };

	if (read_number(digits, &row->id) < 0)
		return copy_name(w, row->name, err);
	row->name[0] = '\0';
	return 0;
}

/* ---- figures ---- */

enum figure { FIG_KIB, FIG_KIB_SOFT, FIG_KIB_HARD, FIG_FILES, FIG_FILES_SOFT, FIG_FILES_HARD };
#define N_FIGURES 6

/* "123", "123*" (over a limit), "[123]" and "[123]*" (a part is missing), "-" (none). */
static int read_figure(struct word w, struct listing_row *row, int64_t *ret)
{
	if (w.n && w.at[w.n - 1] == '*')
		w.n--;
	if (w.n > 1 && *w.at == '[' && w.at[w.n - 1] == ']') {
		row->is_partial = true;
		w = (struct word){ w.at + 1, w.n - 2 };
	}
	if (is_word(w, "-")) {
		*ret = 0;
		return 0;
	}
	return read_number(w, ret);
}

static int take_figures(struct listing_row *row, const struct word w[static N_FIGURES],
			struct err *err)
{
	int64_t n[N_FIGURES];

	row->is_partial = false;
	for (int i = 0; i < N_FIGURES; i++) {
		bool is_kib = i <= FIG_KIB_HARD;

		if (read_figure(w[i], row, &n[i]) < 0)
			return err_set(err, -EINVAL,
				       "'%.*s' is no whole number%s: print it without -h or -s",
				       (int)(w[i].n < 40 ? w[i].n : 40), w[i].at,
				       is_kib ? " of KiB" : "");
		if (is_kib && __builtin_mul_overflow(n[i], KIB, &n[i]))
			return err_set(err, -EINVAL, "more KiB than can be counted");
	}
	row->bytes = n[FIG_KIB];
	row->files = n[FIG_FILES];
	row->limit_bytes = n[FIG_KIB_HARD] ? n[FIG_KIB_HARD] : n[FIG_KIB_SOFT];
	row->limit_files = n[FIG_FILES_HARD] ? n[FIG_FILES_HARD] : n[FIG_FILES_SOFT];
	return 0;
}

/* ---- lfs quota ---- */

static int find_lfs_kind(struct word w, enum listing_kind *ret)
{
	static const char *const words[] = {
		[LISTING_USER] = "usr", [LISTING_GROUP] = "grp", [LISTING_PROJECT] = "prj"
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (is_word(w, words[i])) {
			*ret = (enum listing_kind)i;
			return 0;
		}
	return -EINVAL;
}

#define LFS_TITLE "Disk quotas for "
/* "Disk quotas for grp physics (gid 1234):" */
static int begin_lfs(struct listing *p, const char *line, struct err *err)
{
	const char *kind = line + strlen(LFS_TITLE), *name = kind + strcspn(kind, " ");
	const char *id = strrchr(name, '('), *digits = id ? strchr(id, ' ') : NULL;
	struct listing_row row = { .id = LISTING_NO_ID };
	int r;

	p->form = LISTING_LFS;
	if (!digits ||
	    find_lfs_kind((struct word){ kind, (size_t)(name - kind) }, &row.kind) < 0)
		return err_set(err, -EINVAL, "'%.80s' is no title of lfs quota", line);
	r = take_name(&row, trim_text(name, id), err);
	if (r < 0)
		return r;
	digits++;
	if (read_number((struct word){ digits, strcspn(digits, ")") }, &row.id) < 0)
		return err_set(err, -EINVAL, "'%.80s' is no title of lfs quota", line);
	p->row = row;
	p->state = LISTING_HEADING;
	return 0;
}

static int read_lfs_heading(struct listing *p, const char *line, struct err *err)
{
	struct word w[2];
	int n = split_words(line, w, 2);

	if (!n)
		return 0;
	if (n < 2 || !is_word(w[0], "Filesystem"))
		return err_set(err, -EINVAL, "'%.80s' is no heading of lfs quota", line);
	if (!is_word(w[1], "kbytes"))
		return err_set(err, -EINVAL, "the sizes are rounded; run lfs quota without -h");
	p->state = LISTING_ROWS;
	return 0;
}

#define LFS_WORDS                                                                              \
	8 /* behind the file system: three figures and a time, of sizes and of files */
#define LINE_WORDS_MAX 256

/* The lines after it (OSTs of -v, notes) are skipped until the next title. */
static int read_lfs_row(struct listing *p, const char *line, struct listing_row *ret,
			struct err *err)
{
	static const int at[N_FIGURES] = { 0, 1, 2, 4, 5, 6 };
	struct word w[LINE_WORDS_MAX], figures[N_FIGURES], name;
	int n = split_words(line, w, LINE_WORDS_MAX), r;

	if (!n)
		return 0;
	if (n > LINE_WORDS_MAX)
		return err_set(err, -EINVAL, "a line of more than %d words", LINE_WORDS_MAX);
	name = n < LFS_WORDS ? trim_text(line, line + strlen(line))
			     : trim_text(line, w[n - LFS_WORDS].at);
	if (name.n && p->row.filesystem[0])
		return err_set(err, -EINVAL, "'%.80s' is no row of lfs quota", line);
	if (name.n && (r = copy_name(name, p->row.filesystem, err)) < 0)
		return r;
	if (n < LFS_WORDS)
		return 0;
	for (int i = 0; i < N_FIGURES; i++)
		figures[i] = w[n - LFS_WORDS + at[i]];
	r = take_figures(&p->row, figures, err);
	if (r < 0)
		return r;
	*ret = p->row;
	p->state = LISTING_IDLE;
	return 1;
}

static int read_lfs(struct listing *p, const char *line, struct listing_row *ret,
		    struct err *err)
{
	if (p->state == LISTING_HEADING)
		return read_lfs_heading(p, line, err);
	return p->state == LISTING_ROWS ? read_lfs_row(p, line, ret, err) : 0;
}

/* ---- repquota ---- */

#define REPQUOTA_TITLE "*** Report for "
#define ON_DEVICE " quotas on device "
static int begin_repquota(struct listing *p, const char *line, struct err *err)
{
	const char *kind = line + strlen(REPQUOTA_TITLE), *end = strstr(line, ON_DEVICE);
	struct word w = { kind, (size_t)(end - kind) };

	p->form = LISTING_REPQUOTA;
	p->row = (struct listing_row){ .id = LISTING_NO_ID };
	if (is_word(w, "group"))
		p->row.kind = LISTING_GROUP;
	else if (is_word(w, "project"))
		p->row.kind = LISTING_PROJECT;
	else if (!is_word(w, "user"))
		return err_set(err, -EINVAL, "'%.80s' is no title of repquota", line);
	p->state = LISTING_HEADING;
	end += strlen(ON_DEVICE);
	return copy_name(trim_text(end, end + strlen(end)), p->row.filesystem, err);
}

/* Grace times, two lines of headings, and a line of dashes behind which the rows begin. */
static int read_repquota_heading(struct listing *p, const char *line, struct err *err)
{
	if (strstr(line, "Space limits"))
		return err_set(err, -EINVAL, "the sizes are rounded; run repquota without -s");
	if (starts_with(line, "---"))
		p->state = LISTING_ROWS;
	return 0;
}

/* "--", "+-": whether sizes, and files, are over the soft limit. */
static bool is_flags(struct word w)
{
	return w.n == 2 && strspn(w.at, "+-") >= 2;
}

/* "physics   +-     120     100     200  6days       4     0     0": if a flag is +, a time follows; with -p always. */
static int read_repquota_row(struct listing *p, const char *line, struct listing_row *ret,
			     struct err *err)
{
	struct word w[LINE_WORDS_MAX], figures[N_FIGURES];
	int n = split_words(line, w, LINE_WORDS_MAX), first = 1, files, r;

	while (first < n && n <= LINE_WORDS_MAX && !is_flags(w[first]))
		first++;
	if (n > LINE_WORDS_MAX || n - first < 7 || n - first > 9)
		return err_set(err, -EINVAL, "'%.80s' is no row of repquota", line);
	files = n - first == 9 || (n - first == 8 && *w[first].at == '+') ? 5 : 4;
	*ret = p->row;
	r = take_name(ret, trim_text(line, w[first].at), err);
	if (r < 0)
		return r;
	for (int i = 0; i < N_FIGURES; i++)
		figures[i] = w[first + (i < FIG_FILES ? 1 + i : files + i - FIG_FILES)];
	r = take_figures(ret, figures, err);
	return r < 0 ? r : 1;
}

static int read_repquota(struct listing *p, const char *line, struct listing_row *ret,
			 struct err *err)
{
	if (p->state == LISTING_HEADING)
		return read_repquota_heading(p, line, err);
	if (!line[strspn(line, " \t")])
		p->state = LISTING_IDLE;
	return p->state == LISTING_ROWS ? read_repquota_row(p, line, ret, err) : 0;
}

/* ---- mmrepquota -Y ---- */

static int split_fields(const char *line, struct word ret[static LISTING_FIELDS_MAX],
			struct err *err)
{
	int n = 0;

	for (const char *p = line;; p++) {
		size_t size = strcspn(p, ":");

		if (n == LISTING_FIELDS_MAX)
			return err_set(err, -EINVAL, "a line of more than %d fields",
				       LISTING_FIELDS_MAX);
		ret[n++] = (struct word){ p, size };
		p += size;
		if (!*p)
			return n;
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* With %XX decoded, but for NUL. */
static int decode_name(struct word w, char to[static LISTING_NAME_MAX], struct err *err)
{
	size_t n = 0;
	int r = copy_name(w, to, err);

	if (r < 0)
		return r;
	for (const char *p = to; *p; p++) {
		int high = *p == '%' ? hex_digit(p[1]) : -1,
		    low = high < 0 ? -1 : hex_digit(p[2]);
		bool is_code = low >= 0 && high + low > 0;

		to[n++] = is_code ? (char)(high * 16 + low) : *p;
		p += is_code ? 2 : 0;
	}
	to[n] = '\0';
	return 0;
}

static int read_header(struct listing *p, const struct word *w, int n, struct err *err)
{
	static const char *const names[_LISTING_COLUMN_MAX] = {
		"filesystemName", "quotaType",	"id",	      "name",
		"blockUsage",	  "blockQuota", "blockLimit", "filesUsage",
		"filesQuota",	  "filesLimit", "filesetname"
	};

	p->form = LISTING_MMREPQUOTA;
	p->state = LISTING_IDLE;
	for (int c = 0; c < _LISTING_COLUMN_MAX; c++) {
		p->column[c] = -1;
		for (int i = n - 1; i >= 0; i--)
			if (is_word(w[i], names[c]))
				p->column[c] = i;
		if (p->column[c] < 0 && c != LISTING_WITHIN)
			return err_set(err, -EINVAL, "the HEADER of mmrepquota has no %s",
				       names[c]);
	}
	p->n_columns = n;
	return 0;
}

static int find_mm_kind(struct word w, enum listing_kind *ret)
{
	*ret = is_word(w, "GRP")   ? LISTING_GROUP
	       : is_word(w, "USR") ? LISTING_USER
				   : LISTING_FILESET;
	return *ret != LISTING_FILESET || is_word(w, "FILESET") ? 0 : -EINVAL;
}

/* Groups may have a quota in each fileset: such a row's file system is "gpfs1:fileset". */
static int take_fileset(struct listing_row *row, struct word w, struct err *err)
{
	char within[LISTING_NAME_MAX];
	size_t n = strlen(row->filesystem);
	int r = decode_name(w, within, err);

	if (r < 0 || row->kind == LISTING_FILESET || !*within || !strcmp(within, "root"))
		return r;
	if (n + 1 + strlen(within) >= LISTING_NAME_MAX)
		return err_set(err, -EINVAL, "a name of more than %d bytes",
			       LISTING_NAME_MAX - 1);
	row->filesystem[n] = ':';
	strcpy(row->filesystem + n + 1, within);
	return 0;
}

static int read_mm_row(const struct listing *p, const struct word *w, struct listing_row *ret,
		       struct err *err)
{
	struct word figures[N_FIGURES], type = w[p->column[LISTING_TYPE]];
	int r;

	*ret = (struct listing_row){ .id = LISTING_NO_ID };
	if (find_mm_kind(type, &ret->kind) < 0)
		return err_set(err, -EINVAL, "quotaType '%.*s' is none of USR, GRP, FILESET",
			       (int)(type.n < 40 ? type.n : 40), type.at);
	r = decode_name(w[p->column[LISTING_FS]], ret->filesystem, err);
	if (r < 0)
		return r;
	r = decode_name(w[p->column[LISTING_NAME]], ret->name, err);
	if (r < 0)
		return r;
	if (p->column[LISTING_WITHIN] >= 0)
		r = take_fileset(ret, w[p->column[LISTING_WITHIN]], err);
	if (r < 0)
		return r;
	for (int i = 0; i < N_FIGURES; i++)
		figures[i] = w[p->column[LISTING_KIB + i]];
	r = take_figures(ret, figures, err);
	if (r < 0)
		return r;
	if (read_number(w[p->column[LISTING_ID]], &ret->id) < 0)
		return err_set(err, -EINVAL, "an id that is no number");
	return 1;
}

static int read_mmrepquota(struct listing *p, const char *line, struct listing_row *ret,
			   struct err *err)
{
	struct word w[LISTING_FIELDS_MAX];
	int n = split_fields(line, w, err);

	if (n < 0)
		return n;
	if (n > 2 && is_word(w[2], "HEADER"))
		return read_header(p, w, n, err);
	if (!p->n_columns)
		return err_set(err, -EINVAL, "a row of mmrepquota -Y before its HEADER");
	if (n < p->n_columns)
		return err_set(err, -EINVAL, "%d fields where the HEADER of mmrepquota has %d",
			       n, p->n_columns);
	return read_mm_row(p, w, ret, err);
}

/* ---- any of them ---- */

static int refuse_cut(const struct listing *p, struct err *err)
{
	return err_set(err, -EINVAL, "the report before has no row%s%.80s",
		       p->row.name[0] ? ": that of " : "", p->row.name);
}

/* A report that its tool did not finish; of repquota only the headings are always there. */
static bool is_cut(const struct listing *p)
{
	return p->state == LISTING_HEADING ||
	       (p->form == LISTING_LFS && p->state == LISTING_ROWS);
}

int listing_line(struct listing *p, const char *line, struct listing_row *ret, struct err *err)
{
	bool is_lfs = starts_with(line, LFS_TITLE);
	const char *on = starts_with(line, REPQUOTA_TITLE) ? strstr(line, ON_DEVICE) : NULL;

	if ((is_lfs || on || starts_with(line, "mmrepquota:")) && is_cut(p))
		return refuse_cut(p, err);
	if (is_lfs)
		return begin_lfs(p, line, err);
	if (on && on > line + strlen(REPQUOTA_TITLE))
		return begin_repquota(p, line, err);
	if (starts_with(line, "mmrepquota:"))
		return read_mmrepquota(p, line, ret, err);
	if (p->form == LISTING_LFS)
		return read_lfs(p, line, ret, err);
	return p->form == LISTING_REPQUOTA ? read_repquota(p, line, ret, err) : 0;
}

int listing_end(const struct listing *p, struct err *err)
{
	if (p->form == LISTING_UNKNOWN)
		return err_set(err, -EINVAL,
			       "this is no output of lfs quota, mmrepquota -Y or repquota");
	return is_cut(p) ? refuse_cut(p, err) : 0;
}
