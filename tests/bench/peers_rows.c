/* SPDX-License-Identifier: Apache-2.0 */
/* tests/bench/peers_rows.c - what follows reductions of rows, as a C programmer fuses it:
 * all passes over a row while it is in the cache, rows shared among threads.
 *
 * Part of the library of peers.c.  Compiled with -ffast-math, so that exp is libmvec's and
 * sums are reordered. */
#include <math.h>
#include <omp.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* For every row x of n elements, with y where its results go. */
#define ROWS(name, T, body)                                                                        \
	EXPORT double peer_##name(T *restrict out, const T *restrict in, int64_t rows, int64_t n)  \
	{                                                                                          \
		double start = omp_get_wtime();                                                    \
                                                                                                   \
		_Pragma("omp parallel for schedule(static)") for (int64_t r = 0; r < rows; r++)    \
		{                                                                                  \
			const T *x = in + r * n;                                                   \
			body                                                                       \
		}                                                                                  \
		return omp_get_wtime() - start;                                                    \
	}

#define SOFTMAX(T, exp)                                                                            \
	T *y = out + r * n, top = x[0], total = 0;                                                 \
	for (int64_t i = 0; i < n; i++)                                                            \
		top = x[i] > top ? x[i] : top;                                                     \
	for (int64_t i = 0; i < n; i++)                                                            \
		total += y[i] = exp(x[i] - top);                                                   \
	for (int64_t i = 0; i < n; i++)                                                            \
		y[i] /= total;

#define MOMENTS(T)                                                                                 \
	T mean = 0, square = 0;                                                                    \
	for (int64_t i = 0; i < n; i++)                                                            \
		mean += x[i];                                                                      \
	mean /= (T)n;                                                                              \
	for (int64_t i = 0; i < n; i++)                                                            \
		square += (x[i] - mean) * (x[i] - mean);                                           \
	square /= (T)n;

#define LAYER(T, sqrt)                                                                             \
	T *y = out + r * n;                                                                        \
	MOMENTS(T)                                                                                 \
	T scale = sqrt(square + (T)1e-5);                                                          \
	for (int64_t i = 0; i < n; i++)                                                            \
		y[i] = (x[i] - mean) / scale;

#define VARIANCE(T)                                                                                \
	MOMENTS(T)                                                                                 \
	out[r] = square;

/* Rows less their means, as a covariance begins. */
#define CENTRED(T)                                                                                 \
	T *y = out + r * n, mean = 0;                                                              \
	for (int64_t i = 0; i < n; i++)                                                            \
		mean += x[i];                                                                      \
	mean /= (T)n;                                                                              \
	for (int64_t i = 0; i < n; i++)                                                            \
		y[i] = x[i] - mean;

ROWS(softmax_d, double, SOFTMAX(double, exp))
ROWS(softmax_f, float, SOFTMAX(float, expf))
ROWS(layer_d, double, LAYER(double, sqrt))
ROWS(layer_f, float, LAYER(float, sqrtf))
ROWS(variance_d, double, VARIANCE(double))
ROWS(variance_f, float, VARIANCE(float))
ROWS(centred_d, double, CENTRED(double))
ROWS(centred_f, float, CENTRED(float))
