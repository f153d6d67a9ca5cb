/* SPDX-License-Identifier: Apache-2.0 */
/* proto/present.c - see present.h. */
#define _GNU_SOURCE
#include "present.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE 4096u

static bool is_in(uintptr_t address, const struct dl_phdr_info *object)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address - object->dlpi_addr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

/* Whatever lies there, also what sanitizers put between variables. */
__attribute__((no_sanitize("address"))) static void touch(uintptr_t from, uintptr_t to)
{
	for (uintptr_t at = from; at < to; at = (at | (PAGE - 1)) + 1)
		(void)*(const volatile char *)at;
}

/* Of each object of the process, until it was the right one. */
static int visit(struct dl_phdr_info *object, size_t size, void *address)
{
	(void)size;
	if (!is_in((uintptr_t)address, object))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_R)
			touch(from, from + p->p_memsz);
	}
	return 1;
}

void present_object(const void *address)
{
	dl_iterate_phdr(visit, (void *)(uintptr_t)address);
}
