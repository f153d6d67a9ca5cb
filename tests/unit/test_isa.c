/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_isa.c - the level found agrees with the instruction flags. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "loops/isa.h"

Test(isa, best_is_a_level_whose_flags_the_system_lists)
{
	enum isa_level best = isa_best();
	bool avx2 = false, avx512 = false;
	char line[8192];
	FILE *f = fopen("/proc/cpuinfo", "r");

	cr_assert(f);
	while (fgets(line, sizeof line, f)) {
		avx2 |= strstr(line, " avx2") != NULL;
		avx512 |= strstr(line, " avx512vl") != NULL;
	}
	fclose(f);
	cr_assert(best < ISA_END);
	cr_assert(best < ISA_V3 || avx2);
	cr_assert(best < ISA_V4 || avx512);
}

Test(isa, only_processors_with_avx512_load_by_halves)
{
	if (isa_best() != ISA_V4)
		cr_assert(!isa_halves());
}

Test(isa, names_are_what_compilers_take)
{
	cr_assert_str_eq(isa_name(ISA_V2), "x86-64-v2");
	cr_assert_str_eq(isa_name(ISA_V4), "x86-64-v4");
	cr_assert_str_eq(isa_name(ISA_NONE), "none");
}
