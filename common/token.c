/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token.c - reads a token from a file; see common/token.h. */
#include <errno.h>
#include <fcntl.h>
#include <nettle/memops.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/token.h"

#define TOKEN_MIN 16
#define NOT_OURS (S_IWGRP | S_IRWXO) /* permissions that the file must not have */

static int check_mode(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%.200s: %m", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%.200s is not a regular file", path);
	if (st.st_mode & NOT_OURS)
		return err_set(err, -EINVAL,
			       "%.200s has mode %03o: others may use the token; chmod 640 it",
			       path, st.st_mode & 0777);
	return 0;
}

int token_read(const char *path, char ret[static TOKEN_MAX], struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[TOKEN_MAX + 1] = "";
	size_t size;
	int r;

	if (fd < 0)
		return err_set(err, -errno, "%.200s: %m", path);
	r = check_mode(fd, path, err);
	if (r < 0)
		return r;
	if (read(fd, text, sizeof(text) - 1) < 0)
		return err_set(err, -errno, "read %.200s: %m", path);
	size = strcspn(text, "\r\n");
	text[size] = '\0';
	for (size_t i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~')
			size = 0;
	if (size < TOKEN_MIN || size >= TOKEN_MAX)
		return err_set(
			err, -EINVAL,
			"%.200s does not begin with a line of %d to %d letters, digits and "
			"signs; make one with: openssl rand -hex 32",
			path, TOKEN_MIN, TOKEN_MAX - 1);
	memcpy(ret, text, size + 1);
	return 0;
}

bool token_is_shown(const char *authorization, const char *token)
{
	static const char scheme[] = "Bearer ";
	const char *shown = authorization + sizeof(scheme) - 1;

	return strncasecmp(authorization, scheme, sizeof(scheme) - 1) == 0 &&
	       strlen(shown) == strlen(token) && nettle_memeql_sec(shown, token, strlen(token));
}
