/* SPDX-License-Identifier: Apache-2.0 */
/* worker/dft.h - discrete Fourier transforms of any length, in double precision.
 *
 * In and out: n complex numbers, real and imaginary parts in turns, in place; no factor.
 * Powers of two by halves, a few elements by the sum itself, other lengths as a convolution of a
 * power of two (Bluestein), so that none takes more than n log n.  A table serves any number of
 * threads, each with work memory of its own. */
#ifndef BRAZE_DFT_H
#define BRAZE_DFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dft;

/* NULL: there is no memory. */
struct dft *dft_create(int64_t n);
void dft_destroy(struct dft *d);
/* Doubles of work memory. */
size_t dft_work(const struct dft *d);
/* The other half of n numbers whose transform is real, from the first n / 2 + 1: of the first, and
 * for an even n of the last, only real parts count. */
void dft_complete(double *x, int64_t n);
/* Of the transform of real numbers these are real, to the bit. */
void dft_real_ends(double *x, int64_t n);
void dft_run(const struct dft *d, double *x, double *work, bool inverse);

#endif
