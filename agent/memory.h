/* memory.h - hand back what the agent needed only to start: the node's memory is the jobs'. */
#pragma once

/* Free heap, and the pages of programs and libraries of which this process holds no copy of its
 * own: those in use come back from the page cache at the next touch, the rest (start-up code,
 * relocations, what the kernel mapped around a fault) does not. Never fails; at worst nothing
 * is given back. */
void memory_give_back(void);
