/* SPDX-License-Identifier: GPL-2.0-or-later */
/* value.h - a key's value from its text. Private to common/conf. */
#pragma once
#include "common/conf/conf.h"

/* Parses `value`, which is not empty, into the field at `at`. < 0: err says what the key takes,
 * without its name; the field is as it was. */
int conf_set_value(const struct conf_key *k, const char *value, void *at, struct err *err);
