/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_fetch.c - requests one job by its typed number; see job_fetch.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/client/job_fetch.h"
#include "common/err.h"
#include "common/model/pbs/id.h"
#include "common/wire/doc.h"

int job_fetch_split(const char *typed, char ret_cluster[static REQUEST_NAME_MAX],
		    int64_t *ret_id, struct err *err)
{
	const char *colon = strchr(typed, ':');
	int r;

	if (!colon)
		return 0;
	snprintf(ret_cluster, REQUEST_NAME_MAX, "%.*s", (int)(colon - typed), typed);
	if (!request_is_name(ret_cluster))
		return err_set(
			err, -EINVAL,
			"'%.40s' is not CLUSTER:ID, a cluster of Slurm or PBS and its job id",
			typed);
	r = strchr(colon, '[') ? pbs_id_parse(colon + 1, ret_id, err)
			       : cli_parse_job(colon + 1, ret_id, err);
	return r < 0 ? r : 1;
}

int job_fetch_id(struct cli *c, const char *typed, struct job_id *ret, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	char cluster[REQUEST_NAME_MAX];
	int64_t id = 0;
	int r = job_fetch_split(typed, cluster, &id, err);

	if (r == 0)
		return cli_parse_job_id(typed, ret, err);
	if (r < 0)
		return r;
	if (asprintf(&path, "/v1/jobs/%" PRId64 "?cluster=%s", id, cluster) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_get(c, path, &answer, err);
	if (r < 0)
		return r;
	*ret = (struct job_id){ cli_int(json_object_get(answer, "job"), "job", 0),
				JOB_ID_NO_INDEX };
	return 0;
}

int job_fetch_document(struct cli *c, struct job_fetch_query asked, json_t **ret_answer,
		       struct err *err)
{
	_cleanup_free_ char *path = NULL;
	char text[JOB_ID_TEXT_MAX];
	struct job_id id;
	int r = job_fetch_id(c, asked.typed, &id, err);

	if (r < 0)
		return r;
	if (asprintf(&path, "/v1/jobs/%s%s", job_id_format_path(id, text), asked.what) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_get(c, path, ret_answer, err);
	return r < 0 ? cli_name_job(id, r, err) : 0;
}

int job_fetch(struct cli *c, struct job_fetch_query asked, json_t **ret_answer,
	      struct job_view *ret, struct err *err)
{
	int r = job_fetch_document(c, asked, ret_answer, err);

	return r < 0 ? r : job_view_read(json_object_get(*ret_answer, "job"), ret, err);
}
