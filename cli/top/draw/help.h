/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help - the page of keys, for the screen. */
#pragma once

extern const char
	*const top_help_lines[]; /* ends with NULL; no line is wider than 80 columns */
