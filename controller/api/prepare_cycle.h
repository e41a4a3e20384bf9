/* prepare_cycle - what comes before each scheduling cycle: dependencies are resolved, and tasks of
 * arrays get their rows. */
#pragma once
#include "controller/api/context.h"

/* Jobs whose dependencies are met may start, those whose dependencies failed end. True: there
 * are arrays with tasks that have no row yet. A failure is logged. */
bool prepare_cycle(struct api *a);
