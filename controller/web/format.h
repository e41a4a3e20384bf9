/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format - what stylesheets call to write figures for people: XPath functions of the namespace
 * FORMAT_NAMESPACE. An empty argument (an attribute that is absent: not measured) gives "-".
 *
 *	f:hours(MS)		equivalent or core hours of milliseconds: "1,234.5"; below ten "1.234"
 *	f:years(MS)		the same as years of 8,760 hours: "12.34"
 *	f:bytes(BYTES)		"4.00 GiB"
 *	f:duration(S)		"1:30:00", "26:00:00"
 *	f:duration-ns(NS)	the same
 *	f:time(NS)		"2026-11-23 01:17:05" in the site's zone
 *	f:count(N)		"1,234,567"
 *	f:percent(PART, WHOLE)	"12.3 %"; "-" without a whole
 *	f:encode(TEXT)		as a value in the query of a link
 *	f:points(LIST, WIDTH, HEIGHT, MAX)	points of a polyline: the numbers of LIST (blanks between them) over the
 *				width, 0 at the bottom and MAX at the top; at most 500
 */
#pragma once

#define FORMAT_NAMESPACE "https://reeve.example/format"

/* Once in the process. -ENOMEM. */
int format_register(void);
