/* SPDX-License-Identifier: Apache-2.0 */
/* loops/isa.c - which instruction set level the machine has.
 *
 * Pure: the compiler's run-time support asked the processor, and whether the
 * system saves its registers, before main. */
#include "isa.h"

#include <cpuid.h>
#include <stdatomic.h>

enum isa_level isa_best(void)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt"))
		return ISA_NONE;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
	    !__builtin_cpu_supports("bmi2"))
		return ISA_V2;
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
	    !__builtin_cpu_supports("avx512vl"))
		return ISA_V3;
	return ISA_V4;
}

const char *isa_name(enum isa_level level)
{
	static const char *const name[ISA_END] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

	return level >= 0 && level < ISA_END ? name[level] : "none";
}

/* An AMD's family; 0: another's. */
static unsigned amd_family(void)
{
	unsigned a = 0, b = 0, c = 0, d = 0;

	__builtin_cpu_init();
	if (!__builtin_cpu_is("amd") || !__get_cpuid(1, &a, &b, &c, &d))
		return 0;
	/* 0x0f, and what is to be added to it. */
	return (a >> 8 & 0xf) + (a >> 20 & 0xff);
}

static bool halves(void)
{
	return isa_best() == ISA_V4 && amd_family() == 0x19;
}

static bool reads_ahead(void)
{
	return amd_family() >= 0x1a;
}

/* To ask the processor takes longer than a small product.  `known`: 1: yes; -1: no. */
static bool known_or(_Atomic signed char *known, bool (*ask)(void))
{
	signed char is = atomic_load_explicit(known, memory_order_relaxed);

	if (!is) {
		is = ask() ? 1 : -1;
		atomic_store_explicit(known, is, memory_order_relaxed);
	}
	return is > 0;
}

bool isa_halves(void)
{
	static _Atomic signed char known;

	return known_or(&known, halves);
}

bool isa_reads_ahead(void)
{
	static _Atomic signed char known;

	return known_or(&known, reads_ahead);
}
