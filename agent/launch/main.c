/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - the roles of reeve-launch; see launch.h. */
#include <stdio.h>
#include <string.h>
#include "agent/launch/append.h"
#include "agent/launch/launch.h"
#include "agent/launch/step/step.h"

static int print_usage(FILE *to, int status)
{
	fputs("usage: reeve-launch SOCKET | --final DIR JOB ATTEMPT | --supervise FILE |\n"
	      "       reeve-launch --step FILE VIEWS | --step-waiter FD VIEWS | --views SOCKET |\n"
	      "       reeve-launch --kill-as-one | --append SECONDS\n"
	      "Started by reeve-agent inside the unit of a job; not meant to be typed.\n",
	      to);
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return print_usage(stdout, 0);
	if (argc == 5 && !strcmp(argv[1], "--final"))
		return final_write_main(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "--kill-as-one"))
		return launch_kill_as_one_main();
	if (argc == 3 && !strcmp(argv[1], "--supervise"))
		return supervise_main(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "--step"))
		return step_main(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "--step-waiter"))
		return step_wait_main(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "--views"))
		return views_main(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "--append"))
		return append_main(argv[2]);
	if (argc == 2 && argv[1][0] == '/')
		return launch_main(argv[1]);
	return print_usage(stderr, 2);
}
