/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/sum_nest.h - a small nest with a form for each length. */
#ifndef BRAZE_TEST_SUM_NEST_H
#define BRAZE_TEST_SUM_NEST_H

#include <string.h>

#include "form/nest.h"

/* b = a + a + ... (n times), float64. */
static const struct nest *sum_nest(unsigned n)
{
	static struct nest s;

	memset(&s, 0, sizeof s);
	s.npar = 1;
	s.width = 8;
	s.naccess = 2;
	s.access[0] = (struct nest_access){.dtype = DT_FLOAT64, .walk = WALK_UNIT, .alone = 1};
	s.access[1] = (struct nest_access){
		.slot = 1, .dtype = DT_FLOAT64, .write = 1, .walk = WALK_UNIT, .alone = 1};
	s.instr[0] = (struct nest_instr){.op = NI_LOAD, .dtype = DT_FLOAT64};
	for (unsigned i = 1; i <= n; i++)
		s.instr[i] = (struct nest_instr){.op = OP_ADD,
						 .dtype = DT_FLOAT64,
						 .ltype = DT_FLOAT64,
						 .a = (uint16_t)(i - 1)};
	s.instr[n + 1] =
		(struct nest_instr){.op = NI_STORE, .dtype = DT_FLOAT64, .a = 1, .b = (uint16_t)n};
	s.ninstr = s.post = (uint16_t)(n + 2);
	return &s;
}

#endif
