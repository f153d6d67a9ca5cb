/* SPDX-License-Identifier: Apache-2.0 */
/* loops/isa.c - which instruction set level the machine has.
 *
 * Pure: the compiler's run-time support asked the processor, and whether the
 * system saves its registers, before main. */
#include "isa.h"

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
