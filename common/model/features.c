/* SPDX-License-Identifier: GPL-2.0-or-later */
/* features.c - parses, compares and merges lists of features; see features.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/model/features.h"
#include "common/model/request.h"

static bool is_name(const char *name, size_t n)
{
	return n && *name != '-' && *name != '.' &&
	       strspn(name,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") ==
		       n;
}

int features_lower(const char *name, char *to, size_t size, struct err *err)
{
	size_t n = strlen(name);

	if (!is_name(name, n) || n >= size)
		return err_set(err, -EINVAL,
			       "'%.80s' is not a name: 1 to %zu of letters, digits and . _ + -",
			       name, size - 1);
	for (size_t i = 0; i <= n; i++)
		to[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	return 0;
}

/* strcmp() of the `size` bytes at `at` with `word`. */
static int compare_word(const char *at, size_t size, const char *word)
{
	size_t n = strlen(word);
	int r = memcmp(at, word, size < n ? size : n);

	return r ? r : (size > n) - (size < n);
}

int features_add(char list[static FEATURES_MAX], const char *word, struct err *err)
{
	char small[REQUEST_NAME_MAX];
	size_t used = strlen(list), at = 0, n;
	int order = 1;

	if (features_lower(word, small, sizeof(small), err) < 0)
		return -EINVAL;
	while (list[at]) {
		size_t size = strcspn(list + at, ",");

		order = compare_word(list + at, size, small);
		if (order >= 0)
			break;
		at += size + (list[at + size] == ',');
	}
	if (list[at] && order == 0)
		return 0;
	n = strlen(small);
	if (used + n + 2 > FEATURES_MAX)
		return err_set(err, -EINVAL, "more features than %d bytes", FEATURES_MAX - 1);
	if (!list[at]) { /* comes last */
		if (used)
			list[used++] = ',';
		memcpy(list + used, small, n + 1);
		return 0;
	}
	memmove(list + at + n + 1, list + at, used - at + 1);
	memcpy(list + at, small, n);
	list[at + n] = ',';
	return 0;
}

int features_parse(const char *text, char list[static FEATURES_MAX], struct err *err)
{
	char parsed[FEATURES_MAX], word[REQUEST_NAME_MAX];

	memcpy(parsed, list, FEATURES_MAX);
	for (;;) {
		size_t skip = strspn(text, " \t"), all = strcspn(text, ","), end = all;

		while (end > skip && strchr(" \t", text[end - 1]))
			end--;
		if (end <= skip || end - skip >= sizeof(word))
			return err_set(err, -EINVAL, "an empty or too long feature");
		memcpy(word, text + skip, end - skip);
		word[end - skip] = '\0';
		if (features_add(parsed, word, err) < 0)
			return -EINVAL;
		if (!text[all])
			break;
		text += all + 1;
	}
	memcpy(list, parsed, FEATURES_MAX);
	return 0;
}

/* Both are in order: one look through each. */
bool features_have(const char *has, const char *wanted)
{
	while (*wanted) {
		size_t size = strcspn(wanted, ","), n;

		for (;;) {
			n = strcspn(has, ",");
			if (n == size && !memcmp(has, wanted, n))
				break;
			if (!has[n])
				return false;
			has += n + 1;
		}
		wanted += size + (wanted[size] == ',');
	}
	return true;
}
