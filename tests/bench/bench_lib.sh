# SPDX-License-Identifier: GPL-2.0-or-later
# bench_lib.sh - sourced by benches that call the controller's functions themselves.
# shellcheck shell=bash

# bench_objects ROOM|FILE.c...: the object files of the sources that are there now. What is in build/ may be older than the last move of
# a file.
bench_objects() {
	find "$@" -name '*.c' | sed 's#^#build/#; s#c$#o#'
}
