/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deliver_impl - the two ways out. */
#pragma once
#include "mail/deliver.h"

int deliver_by_smtp(const struct mail_config *c, const struct mail_delivery *d,
		    struct err *err);
