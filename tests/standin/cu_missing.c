/* SPDX-License-Identifier: Apache-2.0 */
/* cu_missing.c - plays an older driver: functions that are not exported.
 *
 * BRAZE_STANDIN="missing=cuGraphCreate:cuMemPoolCreate" takes these names out of this
 * library's own symbol table as it is loaded, before anybody can ask for them; dlsym
 * and cuGetProcAddress then find nothing. */
#include "cu.h"
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct tables {
	ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash; /* DT_GNU_HASH */
};

static struct tables find_tables(const struct link_map *map)
{
	struct tables t = {NULL, NULL, NULL};

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			t.symbols = (ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			t.strings = (const char *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			t.hash = (const uint32_t *)d->d_un.d_ptr;
	}
	return t;
}

/* The hash table's chains end with the last symbol. */
static uint32_t count_symbols(const uint32_t *hash)
{
	uint32_t nbuckets = hash[0], first = hash[1], words = hash[2], last = 0;
	const uint32_t *buckets = hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + nbuckets;

	for (uint32_t k = 0; k < nbuckets; k++)
		last = buckets[k] > last ? buckets[k] : last;
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

/* A symbol that is not defined is not found. */
static void undefine(ElfW(Sym) * s)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)s & ~(page - 1);
	size_t bytes = (uintptr_t)(s + 1) - from;

	if (mprotect((void *)from, bytes, PROT_READ | PROT_WRITE))
		return;
	s->st_shndx = SHN_UNDEF;
	s->st_value = 0;
	mprotect((void *)from, bytes, PROT_READ);
}

static void remove_name(const struct tables *t, uint32_t count, const char *name)
{
	for (uint32_t k = 0; k < count; k++)
		if (t->symbols[k].st_shndx != SHN_UNDEF &&
		    !strcmp(t->strings + t->symbols[k].st_name, name)) {
			undefine(&t->symbols[k]);
			return;
		}
	cu_log("missing=%s: there is no such function", name);
}

static struct link_map *own_map(void)
{
	for (struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		struct tables t = find_tables(m);

		if (m->l_ld == _DYNAMIC && t.symbols && t.strings && t.hash)
			return m;
	}
	return NULL;
}

__attribute__((constructor)) static void remove_missing(void)
{
	const char *text = getenv("BRAZE_STANDIN");
	const char *list = text ? strstr(text, "missing=") : NULL;
	struct link_map *map = list ? own_map() : NULL;
	char names[2048], *rest = NULL;

	if (!map)
		return;
	struct tables t = find_tables(map);
	uint32_t count = count_symbols(t.hash);
	list += strlen("missing=");
	snprintf(names, sizeof(names), "%.*s", (int)strcspn(list, ", "), list);
	for (char *n = strtok_r(names, ":", &rest); n; n = strtok_r(NULL, ":", &rest))
		remove_name(&t, count, n);
}
