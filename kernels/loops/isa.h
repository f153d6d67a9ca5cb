/* SPDX-License-Identifier: Apache-2.0 */
/* loops/isa.h - the instruction set levels that CPU code is built for. */
#ifndef BRAZE_ISA_H
#define BRAZE_ISA_H

#include <stdbool.h>

enum isa_level {
	ISA_NONE = -1, /* below x86-64-v2: nothing of ours runs */
	ISA_V2,	       /* SSE 4.2 */
	ISA_V3,	       /* AVX2, FMA */
	ISA_V4,	       /* AVX-512 F, BW, CD, DQ, VL */
	ISA_END
};

/* The highest level this machine has. */
enum isa_level isa_best(void);
/* "x86-64-v3", as compilers spell it. */
const char *isa_name(enum isa_level level);

/* Has this machine AVX-512 with ways to memory of 32 bytes, as AMD's Zen 4 has? */
bool isa_halves(void);
/* Is one stream of memory as fast as several?  AMD's are taken to be so from Zen 5 on, where a
 * matrix times a vector comes at 31 GB/s a core by rows and at 20 by eight pieces of rows.  On a
 * Zen 3 a copy of 16 MB past the caches takes 1.3 ms in one stream and 0.9 in four. */
bool isa_reads_ahead(void);

#endif
