/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - numbers of 16 bits, f16 and bf16, from doubles and back.
 *
 * Every value of both formats is a double; half_round is the one place where a
 * double becomes 16 bits, in any rounding. */
#ifndef STANDIN_HALF_H
#define STANDIN_HALF_H

#include "ptx_module.h"

/* v rounded to format (T_F16, T_BF16); NaN becomes 0x7fff. */
uint16_t half_round(double v, enum ptx_type format, enum ptx_round round);
double half_value(uint16_t v, enum ptx_type format);
/* a * b + c so that half_round of it is rounded once. */
double half_fma(double a, double b, double c);

#endif
