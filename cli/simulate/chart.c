/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chart.c - draws the SVG of waits by profile; see chart.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cli/simulate/chart.h"
#include "common/cleanup.h"
#include "common/err.h"

/* Coordinates of the SVG. */
#define WIDTH 900
#define LEFT 70
#define RIGHT 870
#define TOP 60
#define BOTTOM 380
#define LEGEND_TOP 440
#define LEGEND_STEP 24
#define PER_DECADE 20

void simulate_chart_bounds(int64_t ret[static CHART_POINTS])
{
	ret[0] = 0;
	for (int i = 1; i < CHART_POINTS; i++) {
		ret[i] = (int64_t)pow(10, (double)(i - 1) / PER_DECADE);
		if (ret[i] <= ret[i - 1])
			ret[i] = ret[i - 1] + 1;
	}
}

/* ---- text ---- */

/* Escapes names from the command line, which are not markup. */
static void put_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '<')
			fputs("&lt;", to);
		else if (c == '>')
			fputs("&gt;", to);
		else if (c == '&')
			fputs("&amp;", to);
		else
			fputc(c < ' ' || c == 0x7f ? '?' : c, to);
	}
}

#define SPAN_MAX 32
/* "45 s", "23.2 min", "1.9 d" */
static const char *format_span(double s, char buf[static SPAN_MAX])
{
	if (s < 60)
		snprintf(buf, SPAN_MAX, "%.0f s", s);
	else if (s < 3600)
		snprintf(buf, SPAN_MAX, "%.1f min", s / 60);
	else if (s < 86400)
		snprintf(buf, SPAN_MAX, "%.1f h", s / 3600);
	else
		snprintf(buf, SPAN_MAX, "%.1f d", s / 86400);
	return buf;
}

/* ---- axes ---- */

struct tick {
	int64_t s;
	const char *name;
};

static const struct tick ticks[] = {
	{ 0, "at once" },	{ 10, "10 s" },	      { 60, "1 min" },
	{ 600, "10 min" },	{ 3600, "1 h" },      { 21600, "6 h" },
	{ 86400, "1 day" },	{ 604800, "1 week" }, { 2592000, "30 days" },
	{ 31536000, "1 year" },
};

/* The point at which every line has reached all its jobs: the chart ends there. */
static int last_point(const struct chart *c)
{
	int last = 1;

	for (size_t i = 0; i < c->n_lines; i++)
		while (last < CHART_POINTS - 1 &&
		       c->lines[i].counts[last] < c->lines[i].sum.jobs)
			last++;
	return last;
}

/* A logarithmic axis; 0 s and 1 s are both on the left edge. */
static double x_of(int64_t s, int64_t most)
{
	double full = log10((double)(most > 10 ? most : 10));

	return LEFT + (RIGHT - LEFT) * (s > 1 ? log10((double)s) / full : 0);
}

/* part: 0 to 1 of all jobs. */
static double y_of(double part)
{
	return BOTTOM - (BOTTOM - TOP) * part;
}

static void put_axes(FILE *to, int64_t most)
{
	for (int percent = 0; percent <= 100; percent += 20) {
		double y = y_of(percent / 100.0);

		fprintf(to,
			"<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
			"<text class=\"end\" x=\"%d\" y=\"%.1f\">%d %%</text>\n",
			LEFT, y, RIGHT, LEFT - 8, y + 4, percent);
	}
	for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
		double x = x_of(ticks[i].s, most);

		if (x > RIGHT)
			continue;
		fprintf(to,
			"<path class=\"grid\" d=\"M%.1f %dV%d\"/>"
			"<text class=\"mid\" x=\"%.1f\" y=\"%d\">%s</text>\n",
			x, TOP, BOTTOM, x, BOTTOM + 20, ticks[i].name);
	}
	fprintf(to,
		"<text class=\"mid\" x=\"%d\" y=\"%d\">jobs that had started within"
		" this time of their submission</text>\n",
		(LEFT + RIGHT) / 2, BOTTOM + 40);
}

/* ---- lines ---- */

static const char *const colors[] = { "#3b82c4", "#d9742b", "#2a9d6f", "#b65fb5",
				      "#a8861a", "#c4524f", "#5f7fa8", "#7d8a3a" };
static const char *const dashes[] = { "none", "9 4", "3 3", "12 3 3 3", "1 4" };

static void put_style(FILE *to, size_t i)
{
	fprintf(to, "class=\"line\" stroke=\"%s\" stroke-dasharray=\"%s\"",
		colors[i % ARRAY_LEN(colors)], dashes[i % ARRAY_LEN(dashes)]);
}

/* One point for each bound up to `last`, where all jobs of all profiles have started. */
static void put_line(FILE *to, const struct chart *c, size_t i, int last)
{
	const struct chart_line *l = &c->lines[i];
	int64_t bounds[CHART_POINTS];

	simulate_chart_bounds(bounds);
	fputs("<path ", to);
	put_style(to, i);
	for (int k = 0; k <= last; k++) {
		double part = l->sum.jobs ? (double)l->counts[k] / (double)l->sum.jobs : 0;

		fprintf(to, "%s%.1f %.1f", k ? " " : " d=\"M", x_of(bounds[k], bounds[last]),
			y_of(part));
	}
	fputs("\"/>\n", to);
}

static void put_legend(FILE *to, const struct chart_line *l, size_t i)
{
	int y = LEGEND_TOP + LEGEND_STEP * (int)i;
	char mean[SPAN_MAX], p95[SPAN_MAX], most[SPAN_MAX];

	fputs("<path ", to);
	put_style(to, i);
	fprintf(to, " d=\"M%d %dH%d\"/><text x=\"%d\" y=\"%d\"><tspan class=\"name\">", LEFT, y,
		LEFT + 40, LEFT + 50, y + 4);
	put_text(to, l->name);
	fprintf(to,
		"</tspan>: mean wait %s, 95 %% within %s, longest %s; slowdown %.1f; "
		"utilisation %.1f %%",
		format_span(l->sum.wait_mean_s, mean),
		format_span((double)l->sum.wait_s.p95, p95),
		format_span((double)l->sum.wait_s.max, most), l->sum.bounded_slowdown_mean,
		100 * l->sum.utilisation);
	if (l->sum.suspensions)
		fprintf(to, "; suspended %s", format_span((double)l->sum.suspended_s, mean));
	fputs("</text>\n", to);
}

static const char style[] =
	"<style>text{font:13px sans-serif;fill:#222}.mid{text-anchor:middle}"
	".end{text-anchor:end}.title{font-size:17px;font-weight:bold}.name{font-weight:bold}"
	".back{fill:#fff}.grid{stroke:#ccc;stroke-width:1;fill:none}"
	".line{stroke-width:2.5;fill:none}"
	"@media(prefers-color-scheme:dark){text{fill:#ddd}.back{fill:#16181c}"
	".grid{stroke:#3a3f47}}</style>\n";

static void put_chart(FILE *to, const struct chart *c)
{
	int height = LEGEND_TOP + LEGEND_STEP * (int)c->n_lines, last = last_point(c);
	int64_t bounds[CHART_POINTS];

	simulate_chart_bounds(bounds);
	fprintf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" role=\"img\">\n%s<title>Waits by profile</title>\n"
		"<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n"
		"<text class=\"title\" x=\"%d\" y=\"32\">",
		WIDTH, height, WIDTH, height, style, WIDTH, height, LEFT);
	put_text(to, c->trace);
	fprintf(to, ": %zu jobs on %" PRId64 " cores</text>\n",
		c->n_lines ? c->lines[0].sum.jobs : 0, c->cores);
	put_axes(to, bounds[last]);
	for (size_t i = 0; i < c->n_lines; i++)
		put_line(to, c, i, last);
	for (size_t i = 0; i < c->n_lines; i++)
		put_legend(to, &c->lines[i], i);
	fputs("</svg>\n", to);
}

int simulate_chart_write(const char *path, const struct chart *c, struct err *err)
{
	FILE *to = fopen(path, "we");
	int bad;

	if (!to)
		return err_set(err, -errno, "cannot write %.200s: %m", path);
	put_chart(to, c);
	bad = ferror(to);
	if (fclose(to) != 0 || bad)
		return err_set(err, errno ? -errno : -EIO, "cannot write %.200s: %m", path);
	return 0;
}
