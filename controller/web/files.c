/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - the templates as the assembler puts them into the program; see files.h. */
#include <string.h>
#include "controller/web/files.h"

/* Two symbols around the bytes of a file. */
#define INCLUDE_FILE(symbol, path)                                                             \
	__asm__(".pushsection .rodata\n" #symbol                                               \
		":\n\t.incbin \"controller/web/templates/" path "\"\n" #symbol                 \
		"_end:\n\t.byte 0\n\t.popsection\n");                                          \
	extern const char symbol[], symbol##_end[]

INCLUDE_FILE(web_layout_xsl, "layout.xsl");
INCLUDE_FILE(web_enter_xsl, "enter.xsl");
INCLUDE_FILE(web_home_xsl, "home.xsl");
INCLUDE_FILE(web_usage_xsl, "usage.xsl");
INCLUDE_FILE(web_jobs_xsl, "jobs.xsl");
INCLUDE_FILE(web_job_xsl, "job.xsl");
INCLUDE_FILE(web_job_table_xsl, "job_table.xsl");
INCLUDE_FILE(web_job_price_xsl, "job_price.xsl");
INCLUDE_FILE(web_storage_xsl, "storage.xsl");
INCLUDE_FILE(web_share_xsl, "share.xsl");
INCLUDE_FILE(web_quota_xsl, "quota.xsl");
INCLUDE_FILE(web_queue_xsl, "queue.xsl");
INCLUDE_FILE(web_nodes_xsl, "nodes.xsl");
INCLUDE_FILE(web_cluster_xsl, "cluster.xsl");
INCLUDE_FILE(web_timeline_xsl, "timeline.xsl");
INCLUDE_FILE(web_series_xsl, "series.xsl");
INCLUDE_FILE(web_style_css, "style.css");

#define FILE_ROW(name, symbol)                                                                 \
	{                                                                                      \
		name, symbol, symbol##_end                                                     \
	}

static const struct web_file files[] = {
	FILE_ROW("layout.xsl", web_layout_xsl),
	FILE_ROW("enter.xsl", web_enter_xsl),
	FILE_ROW("home.xsl", web_home_xsl),
	FILE_ROW("usage.xsl", web_usage_xsl),
	FILE_ROW("jobs.xsl", web_jobs_xsl),
	FILE_ROW("job.xsl", web_job_xsl),
	FILE_ROW("share.xsl", web_share_xsl),
	FILE_ROW("quota.xsl", web_quota_xsl),
	FILE_ROW("queue.xsl", web_queue_xsl),
	FILE_ROW("nodes.xsl", web_nodes_xsl),
	FILE_ROW("job_table.xsl", web_job_table_xsl),
	FILE_ROW("style.css", web_style_css),
	FILE_ROW("job_price.xsl", web_job_price_xsl),
	FILE_ROW("storage.xsl", web_storage_xsl),
	FILE_ROW("cluster.xsl", web_cluster_xsl),
	FILE_ROW("timeline.xsl", web_timeline_xsl),
	FILE_ROW("series.xsl", web_series_xsl),
};

const struct web_file *web_file_find(const char *name)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(files[i].name, name))
			return &files[i];
	return NULL;
}
