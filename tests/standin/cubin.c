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
	return !strncmp(image, ELFMAG, SELFMAG); /* a text may be shorter */
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

static const char magic[8] = {'s', 't', 'a', 'n', 'd', 'p', 't', 'x'};

static uint64_t hashed(const char *p, uint64_t h)
{
	for (; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3ull;
	return h;
}

struct cubin_tag cubin_tag(const char *ptx)
{
	struct cubin_tag tag = {
		.hash = {hashed(ptx, 0xcbf29ce484222325ull), hashed(ptx, 0x6c62272e07bb0142ull)}};

	memcpy(tag.magic, magic, sizeof(magic));
	return tag;
}

bool cubin_tagged(struct cubin_tag *out, const void *image)
{
	memcpy(out, (const char *)image + cubin_bytes(image), sizeof(*out));
	return !memcmp(out->magic, magic, sizeof(magic));
}

bool cubin_path(const struct cubin_tag *tag, char *path, size_t cap)
{
	const char *folder = getenv("BRAZE_STANDIN_PTX");

	if (!folder || !*folder)
		return false;
	int length = snprintf(path, cap, "%s/%016llx%016llx.ptx", folder,
			      (unsigned long long)tag->hash[0], (unsigned long long)tag->hash[1]);
	return length > 0 && (size_t)length < cap;
}
