/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/exact.c - see exact.h. */
#include "exact.h"

#include <complex.h>
#include <math.h>

#include "ops.h"

static const struct {
	unsigned op;
	long double complex (*f)(long double complex);
} functions[] = {{OP_SQRT, csqrtl},	{OP_EXP, cexpl},       {OP_LOG, clogl},
		 {OP_SIN, csinl},	{OP_COS, ccosl},       {OP_TAN, ctanl},
		 {OP_ARCSIN, casinl},	{OP_ARCCOS, cacosl},   {OP_ARCTAN, catanl},
		 {OP_SINH, csinhl},	{OP_COSH, ccoshl},     {OP_TANH, ctanhl},
		 {OP_ARCSINH, casinhl}, {OP_ARCCOSH, cacoshl}, {OP_ARCTANH, catanhl}};

bool exact_function(unsigned op, const long double z[2], long double f[2])
{
	for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
		if (functions[i].op != op)
			continue;
		long double complex v = functions[i].f(CMPLXL(z[0], z[1]));

		f[0] = creall(v);
		f[1] = cimagl(v);
		return true;
	}
	return false;
}
