/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load - every text that is parsed as JSON, and every one that is made: jansson's functions, with the same arguments and results.
 *
 * Jansson (2.14) does not look at it when its buffer for a token cannot grow (github.com/akheron/jansson, issue 362): a number
 * loses a digit, or the parser writes behind the buffer. So when the parser gets no memory the program ends with a message; the service manager
 * starts it again, and it goes on from what it has saved. Elsewhere, memory that a document does not get is an error like any other.
 */
#pragma once
#include <jansson.h>
#include <stdio.h>

json_t *wire_load(const char *text, size_t flags, json_error_t *ret_why);
json_t *wire_load_bytes(const char *text, size_t size, size_t flags, json_error_t *ret_why);
json_t *wire_load_stream(FILE *from, size_t flags, json_error_t *ret_why);

/* json_dumps() leaves a key out when its text cannot grow there, and returns what is then no document. NULL: out of memory. */
char *wire_print(const json_t *j, size_t flags);
