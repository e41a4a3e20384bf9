/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_attempts - prints the attempts of a job before the present one: node, end and charge. */
#pragma once
#include <stdio.h>
#include "cli/views/job_view.h"

/* Prints nothing for a job that was never requeued. */
void job_attempts_print(const struct job_view *v, FILE *to);
