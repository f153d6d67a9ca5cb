/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_bind.c - which function executes an instruction; asked once, at load. */
#include "run.h"

ptx_exec *ptx_bind(const struct ptx_ins *i)
{
	static ptx_exec *(*const finders[])(const struct ptx_ins *) = {
		run_int_find,	  run_float_find,  run_bits_find,   run_compare_find,
		run_convert_find, run_memory_find, run_atomic_find, run_warp_find,
	};

	for (size_t k = 0; k < sizeof(finders) / sizeof(finders[0]); k++) {
		ptx_exec *run = finders[k](i);

		if (run)
			return run;
	}
	return NULL;
}
