/* SPDX-License-Identifier: Apache-2.0 */
/* loops/draw.c - generators, a number at a time. */
#include "draw.h"

void draw_pcg_jump(draw_wide *factor, draw_wide *sum, draw_wide step, uint64_t steps)
{
	draw_wide f = DRAW_PCG_FACTOR, s = step;

	*factor = 1;
	*sum = 0;
	/* f and s are 1, 2, 4, ... steps. */
	for (; steps; steps >>= 1) {
		if (steps & 1) {
			*factor *= f;
			*sum = *sum * f + s;
		}
		s *= f + 1;
		f *= f;
	}
}

void draw_pcg_skip(uint64_t *state, unsigned dtype, uint64_t n)
{
	uint64_t words = n, half = state[DRAW_HALF];
	draw_wide factor = 0, sum = 0, x = draw_wide_of(state + DRAW_STATE);

	if (!n)
		return;
	if (dtype == DT_FLOAT32) {
		n -= half >> 32 & 1;
		words = n / 2 + n % 2;
	}
	draw_pcg_jump(&factor, &sum, draw_wide_of(state + DRAW_STEP), words);
	x = x * factor + sum;
	state[DRAW_STATE] = (uint64_t)x;
	state[DRAW_STATE + 1] = (uint64_t)(x >> 64);
	/* Half a word that was used stays to be seen, as in NumPy. */
	if (dtype != DT_FLOAT32)
		return;
	if (words)
		state[DRAW_HALF] = draw_pcg_word(x) >> 32 | (n % 2) << 32;
	else
		state[DRAW_HALF] = (uint32_t)half;
}

void draw_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
	uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
	uint32_t k[2] = {key[0], key[1]};

	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)c[0] * 0xd2511f53, b = (uint64_t)c[2] * 0xcd9e8d57;

		c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k[0];
		c[1] = (uint32_t)b;
		c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k[1];
		c[3] = (uint32_t)a;
		k[0] += 0x9e3779b9;
		k[1] += 0xbb67ae85;
	}
	memcpy(out, c, sizeof c);
}
