/* SPDX-License-Identifier: GPL-2.0-or-later */
/* version.h - the version. */
#pragma once

#define REEVE_VERSION "0.1.0"
