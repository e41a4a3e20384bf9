/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model.c - turns product names of drivers into models that people type; docs/gpu.md has the
 * rule. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "agent/gpu/gpu.h"

#define WORDS_MAX 16
#define GIB (1LL << 30)

/* Words for the maker, the connector or the kind of memory: left out of the model. */
static const char *const noise[] = {
	"simulated", "nvidia",	    "amd",    "advanced",    "micro",	"devices",    "inc.",
	"intel",     "intel(r)",    "tesla",  "quadro",	     "geforce", "instinct",   "radeon",
	"graphics",  "data",	    "center", "gpu",	     "grid",	"pcie",	      "sxm",
	"sxm2",	     "sxm3",	    "sxm4",   "sxm5",	     "sxm6",	"hbm2",	      "hbm2e",
	"hbm3",	     "hbm3e",	    "nvl",    "dgxs",	     "fhhl",	"generation", "edition",
	"server",    "workstation", "(tm)",   "accelerator", "oam",	"superchip",
};

/* Sizes that cards are sold with, GiB: a driver reports less (ECC takes 1/16 of GDDR). */
static const int sold[] = { 2,	3,  4,	5,  6,	8,  10, 11,  12,  16,  18,  20,	 24,  32, 36,
			    40, 48, 64, 72, 80, 94, 96, 128, 141, 180, 186, 192, 256, 288 };

const char *gpu_vendor_name(enum gpu_vendor v)
{
	static const char *const names[] = { "nvidia", "amd", "intel" };

	return v >= 0 && v < _GPU_VENDOR_MAX ? names[v] : "unknown";
}

static bool is_noise(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(noise); i++)
		if (!strcmp(word, noise[i]))
			return true;
	return false;
}

/* "40gb", "144g": the number, else 0. */
static int word_gb(const char *word)
{
	size_t digits = strspn(word, "0123456789");
	int n = 0;

	if (!digits || digits > 4 ||
	    (strcmp(word + digits, "gb") && strcmp(word + digits, "g")))
		return 0;
	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (word[i] - '0');
	return n;
}

static int sold_gb(int64_t mem_bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(sold); i++)
		if (mem_bytes <= sold[i] * GIB)
			return mem_bytes >= sold[i] * (GIB / 1000) * 915
				       ? sold[i]
				       : (int)((mem_bytes - 1) / GIB + 1);
	return (int)((mem_bytes - 1) / GIB + 1);
}

static int split_words(char *text, char *words[WORDS_MAX])
{
	char *save = NULL;
	int n = 0;

	for (char *w = strtok_r(text, " \t-/,[]", &save); w && n < WORDS_MAX;
	     w = strtok_r(NULL, " \t-/,[]", &save))
		words[n++] = w;
	return n;
}

/* Only what a name may have, beginning with a letter; two digits in a row that were two words
 * are kept apart. A '_' is of MIG instances alone. */
static size_t append_word(char *to, size_t at, const char *word)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789.+";

	while (!at && *word && !isalnum((unsigned char)*word))
		word++;
	if (!at && isdigit((unsigned char)*word))
		at = append_word(to, 0, "gpu");
	else if (at && isdigit((unsigned char)to[at - 1]) && isdigit((unsigned char)*word) &&
		 at < REQUEST_NAME_MAX - 16)
		to[at++] = '.';
	for (; *word && at < REQUEST_NAME_MAX - 16; word++)
		if (strchr(allowed, *word))
			to[at++] = *word;
	to[at] = '\0';
	return at;
}

static bool is_rtx_before_a(const char *word, const char *next)
{
	return !strcmp(word, "rtx") && next && next[0] == 'a' &&
	       isdigit((unsigned char)next[1]);
}

/* The words of the product into `to`; the memory that it names, GB, or 0; the MIG profile, or
 * NULL. */
static size_t format_family(char *text, char *to, int *ret_gb, const char **ret_profile)
{
	char *words[WORDS_MAX];
	int n = split_words(text, words);
	size_t at = 0;

	*ret_gb = 0;
	*ret_profile = NULL;
	for (int i = 0; i < n; i++) {
		int gb = word_gb(words[i]);

		if (!strcmp(words[i], "mig") && i + 1 < n) {
			*ret_profile = words[i + 1];
			break;
		}
		if (gb)
			*ret_gb = gb;
		else if (!is_noise(words[i]) &&
			 !is_rtx_before_a(words[i], i + 1 < n ? words[i + 1] : NULL))
			at = append_word(to, at, words[i]);
	}
	return at;
}

void gpu_model_of(const char *product, int64_t mem_bytes, char ret[static REQUEST_NAME_MAX])
{
	const char *profile;
	char text[128];
	size_t at;
	int gb;

	snprintf(text, sizeof(text), "%s", product);
	for (char *p = text; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	ret[0] = '\0';
	at = format_family(text, ret, &gb, &profile);
	if (!at)
		at = append_word(ret, 0, "gpu");
	if (profile) {
		ret[at++] = '_';
		ret[at] = '\0';
		append_word(ret, at, profile);
		return;
	}
	/* "GH200 480GB" names the memory of its processor */
	if (mem_bytes > 0 && (!gb || !strncmp(ret, "gh", 2)))
		gb = sold_gb(mem_bytes);
	if (gb)
		snprintf(ret + at, REQUEST_NAME_MAX - at, "-%d", gb);
}
