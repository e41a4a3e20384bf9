/* rows - the rows of a share tree from what is declared, or from whoever was charged. Private
 * to standing. */
#pragma once
#include "controller/standing/tree.h"

/* Sets rows, share_rows and n_rows of the tree, and which of its entries are rows; makes
 * entries for rows that have none. Row 0 is the root. -ENOMEM. */
int rows_make(struct tree *t, const struct accounts *accounts, struct err *err);
