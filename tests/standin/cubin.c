/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.c - the PTX that belongs to a cubin; see cubin.h. */
#include "cubin.h"
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cubin_is(const void *image)
{
	return !memcmp(image, ELFMAG, SELFMAG);
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

size_t cubin_bytes(const void *image)
{
	Elf64_Ehdr e;
	Elf64_Shdr s;

	memcpy(&e, image, sizeof(e));
	size_t end = larger(sizeof(e), e.e_shoff + (size_t)e.e_shnum * e.e_shentsize);
	end = larger(end, e.e_phoff + (size_t)e.e_phnum * e.e_phentsize);
	for (size_t k = 0; k < e.e_shnum; k++) {
		memcpy(&s, (const char *)image + e.e_shoff + k * e.e_shentsize, sizeof(s));
		if (s.sh_type != SHT_NOBITS)
			end = larger(end, s.sh_offset + s.sh_size);
	}
	return end;
}

static uint64_t hashed(const unsigned char *p, size_t n, uint64_t h)
{
	for (size_t k = 0; k < n; k++)
		h = (h ^ p[k]) * 0x100000001b3ull;
	return h;
}

bool cubin_path(const void *image, char *path, size_t cap)
{
	const char *folder = getenv("BRAZE_STANDIN_PTX");
	size_t n = cubin_bytes(image);

	if (!folder || !*folder)
		return false;
	int length = snprintf(path, cap, "%s/%016llx%016llx.ptx", folder,
			      (unsigned long long)hashed(image, n, 0xcbf29ce484222325ull),
			      (unsigned long long)hashed(image, n, 0x6c62272e07bb0142ull));
	return length > 0 && (size_t)length < cap;
}
