/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_service - does systemd have reeve-agent.service up? */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A directory beside the agent's sockets. It is there as long as systemd starts reeve-agent.service, runs or restarts it
 * (RuntimeDirectory= and RuntimeDirectoryPreserve=restart in its unit), and gone when it is stopped. */
#define AGENT_SERVICE_DIR "service"

/* True: where no agent answers at `socket_path`, one will. */
static inline bool agent_service_is_up(const char *socket_path)
{
	const char *slash = strrchr(socket_path, '/');
	char mark[PATH_MAX];
	int n = snprintf(mark, sizeof(mark), "%.*s/" AGENT_SERVICE_DIR,
			 slash ? (int)(slash - socket_path) : 0, socket_path);

	return slash && n > 0 && (size_t)n < sizeof(mark) && access(mark, F_OK) == 0;
}
