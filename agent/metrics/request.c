/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.c - reads the head of an HTTP/1 request; see metrics/request.h. */
#include <string.h>
#include <strings.h>
#include "agent/metrics/request.h"

/* Bytes of the head with the empty line that ends it; 0: it is not there. Lines may end with LF alone. */
static size_t head_size(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text[i] != '\n')
			continue;
		if (i + 1 < n && text[i + 1] == '\n')
			return i + 2;
		if (i + 2 < n && text[i + 1] == '\r' && text[i + 2] == '\n')
			return i + 3;
	}
	return 0;
}

/* Cuts off the next line, without its end. NULL: no more. */
static char *take_line(char **rest)
{
	char *line = *rest, *end = line ? strchr(line, '\n') : NULL;

	if (!end)
		return NULL;
	*rest = end + 1;
	*end = '\0';
	if (end > line && end[-1] == '\r')
		end[-1] = '\0';
	return line;
}

/* "GET /metrics HTTP/1.1"; a query (?...) after the path is ignored. */
static int parse_first(char *line, struct metrics_request *ret)
{
	char *path = strchr(line, ' '), *version;

	if (!path)
		return 400;
	*path++ = '\0';
	version = strchr(path, ' ');
	if (!version)
		return 400;
	*version++ = '\0';
	if (strncmp(version, "HTTP/1.", 7) != 0 || path[0] != '/')
		return 400;
	ret->is_head = !strcmp(line, "HEAD");
	if (!ret->is_head && strcmp(line, "GET") != 0)
		return 405;
	path[strcspn(path, "?")] = '\0';
	return strcmp(path, "/metrics") == 0 ? 200 : 404;
}

static const char *value_of(char *line, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(line, name, n) != 0 || line[n] != ':')
		return NULL;
	return line + n + 1 + strspn(line + n + 1, " \t");
}

/* Of a header that comes twice, the first. */
static void parse_header(char *line, struct metrics_request *ret)
{
	const char *accept = value_of(line, "Accept"),
		   *authorization = value_of(line, "Authorization");

	if (accept && !ret->accept)
		ret->accept = accept;
	if (authorization && !ret->authorization)
		ret->authorization = authorization;
}

bool metrics_request_parse(char *text, size_t n, struct metrics_request *ret)
{
	size_t size = head_size(text, n);
	char *rest = text, *line;

	*ret = (struct metrics_request){ .status = 431 };
	if (!size)
		return n >= METRICS_REQUEST_MAX;
	ret->status = 400;
	if (memchr(text, '\0', size))
		return true;
	text[size - 1] = '\0'; /* of the empty line */
	line = take_line(&rest);
	ret->status = line ? parse_first(line, ret) : 400;
	while ((line = take_line(&rest)))
		parse_header(line, ret);
	return true;
}

const char *metrics_request_reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 401:
		return "Unauthorized";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 431:
		return "Request Header Fields Too Large";
	case 500:
		return "Internal Server Error";
	default:
		return "Bad Request";
	}
}
