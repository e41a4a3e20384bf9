/* job_fetch.c - requests one job by its typed number; see job_fetch.h. */
#include <errno.h>
#include "cli/client/job_fetch.h"
#include "common/err.h"

int job_fetch(struct cli *c, struct job_fetch_query asked, json_t **ret_answer,
	      struct job_view *ret, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	char text[JOB_ID_TEXT_MAX];
	struct job_id id;
	int r = cli_parse_job_id(asked.typed, &id, err);

	if (r < 0)
		return r;
	if (asprintf(&path, "/v1/jobs/%s%s", job_id_format_path(id, text), asked.what) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_ask(c, (struct http_call){ .method = "GET", .path = path }, ret_answer, err);
	if (r < 0)
		return cli_name_job(id, r, err);
	return job_view_read(json_object_get(*ret_answer, "job"), ret, err);
}
