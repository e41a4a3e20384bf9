/* turn - what comes before each cycle: jobs that waited for others are let go or ended, and
 * elements of arrays get their rows. */
#pragma once
#include "controller/api/call.h"

/* True: there are arrays with elements that still wait. What fails is logged. */
bool turn_take(struct api *a);
