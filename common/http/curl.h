/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curl - libcurl, loaded when the first exchange is opened: loading it with its dependencies takes
 * 5 ms, which commands that only read a file do not need.
 *
 * curl.easy_init() is curl_easy_init(), and so on. libcurl's own checks of the types of options
 * are not made: a number is a long or a curl_off_t, never an int.
 */
#pragma once
#include <curl/curl.h>
#undef curl_easy_setopt /* macros that name the function */
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct err;

#define CURL_FUNCTIONS(X)                                                                      \
	X(global_init)                                                                         \
	X(version)                                                                             \
	X(easy_init)                                                                           \
	X(easy_perform)                                                                        \
	X(easy_cleanup)                                                                        \
	X(easy_setopt)                                                                         \
	X(easy_getinfo)                                                                        \
	X(easy_strerror)                                                                       \
	X(slist_append)                                                                        \
	X(slist_free_all)                                                                      \
	X(multi_init)                                                                          \
	X(multi_cleanup)                                                                       \
	X(multi_setopt)                                                                        \
	X(multi_add_handle)                                                                    \
	X(multi_remove_handle)                                                                 \
	X(multi_assign)                                                                        \
	X(multi_socket_action)                                                                 \
	X(multi_info_read)                                                                     \
	X(multi_strerror)

struct curl {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};
extern struct curl curl; /* after curl_load() */

/* -ENOENT: there is no libcurl here, or it lacks something: the message says what. */
int curl_load(struct err *err);
