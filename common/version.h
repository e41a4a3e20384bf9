/* version.h - the one place that says which Reeve this is. */
#pragma once

#define REEVE_VERSION "0.1.0"
