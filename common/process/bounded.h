/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bounded - for a process that becomes another user: that user may stop it, but not for ever, and gets no core file of it. */
#pragma once

/* No core file; SIGKILL by the kernel after `limit_s` seconds, which reaches a stopped process too and lasts through a change of
 * user (not through exec). -errno. */
int bounded_begin(int limit_s);
