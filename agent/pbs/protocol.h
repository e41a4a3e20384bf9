/* SPDX-License-Identifier: GPL-2.0-or-later */
/* protocol.h - what PBS's hook asks of the agent (agent/pbs/question.h), at pbs.sock. */
#pragma once
#include "agent/foreign/server.h"

extern const struct foreign_protocol pbs_protocol;
