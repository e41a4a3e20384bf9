/* SPDX-License-Identifier: GPL-2.0-or-later */
/* certificate.c - checks the files of TLS: that they are there, and that the key is a secret; see config.h. What is in
 * them is checked by controller/http/certificate.h, for the library of TLS is not part of this room. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "common/err.h"
#include "common/private.h"
#include "controller/config/config_impl.h"

static int check_path(const char *value, struct err *err)
{
	return *value == '/' ? 0 : err_set(err, -EINVAL, "it is not an absolute path");
}

int config_check_certificate(void *object, const char *value, struct err *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r = check_path(value, err);

	(void)object;
	if (r < 0)
		return r;
	fd = open(value, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "%m; name a file in PEM form");
	return S_ISREG(st.st_mode) ? 0 : err_set(err, -EINVAL, "it is not a regular file");
}

int config_check_key(void *object, const char *value, struct err *err)
{
	int r = check_path(value, err);

	(void)object;
	return r < 0 ? r : private_check(value, err);
}
