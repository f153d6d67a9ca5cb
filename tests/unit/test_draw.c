/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: known answers, and every loop against a plain one, in every cut and instruction
 * set. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/textbuf.h"
#include "call/draw.h"

#define MOST 4000

static const struct draw_isa *const isa[ISA_END] = {&draw_isa_v2, &draw_isa_v3, &draw_isa_v4};

/* As the paper of Philox's authors has them (Salmon and others, 2011). */
Test(draw, known_answers_of_philox)
{
	static const struct {
		uint32_t counter[4], key[2], want[4];
	} known[] = {
		{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
		 {0xffffffff, 0xffffffff},
		 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
		 {0xa4093822, 0x299f31d0},
		 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};

	for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
		uint32_t out[4];

		draw_philox(out, known[k].counter, known[k].key);
		cr_assert_arr_eq(out, known[k].want, sizeof out, "answer %zu", k);
	}
}

static uint64_t word_of(const uint64_t *state, uint64_t block, int half)
{
	const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32),
				     (uint32_t)state[DRAW_NUMBER],
				     (uint32_t)(state[DRAW_NUMBER] >> 32)};
	const uint32_t key[2] = {(uint32_t)state[DRAW_KEY], (uint32_t)(state[DRAW_KEY] >> 32)};
	uint32_t out[4];

	draw_philox(out, counter, key);
	return (uint64_t)out[2 * half + 1] << 32 | out[2 * half];
}

/* The word of element i, as draw.h says. */
static uint64_t element(const uint64_t *state, uint64_t i, int half)
{
	return word_of(state, i / 16 * 8 + i % 8, half);
}

static double close_to(double x, double want)
{
	return fabs(x - want) / (1 + fabs(want));
}

static double wanted(unsigned op, const uint64_t *state, uint64_t i)
{
	double u = ((double)(element(state, i, 0) >> 11) + 1) * 0x1p-53, low, span, x = 0;
	uint64_t turn = element(state, i, 1), own = element(state, i, i / 8 % 2);
	/* Quadrant q turns by q right angles. */
	double angle = ((double)(turn >> 62) + (double)(turn << 2 >> 11) * 0x1p-53 - 0.5) *
		       1.5707963267948966;

	memcpy(&low, &state[DRAW_LOW], sizeof low);
	memcpy(&span, &state[DRAW_SPAN], sizeof span);
	if (op == OP_DRAW_UNIFORM)
		x = (double)(own >> 11) * 0x1p-53;
	else if (op == OP_DRAW_EXPONENTIAL)
		x = -log(((double)(own >> 11) + 1) * 0x1p-53);
	else
		x = sqrt(-2 * log(u)) * (i / 8 % 2 ? sin(angle) : cos(angle));
	return low + span * x;
}

static void state_of(uint64_t state[DRAW_LENGTH], double low, double span)
{
	memset(state, 0, DRAW_LENGTH * sizeof *state);
	state[DRAW_KEY] = 0x123456789abcdef0;
	state[DRAW_NUMBER] = 0xfedcba9876543210;
	memcpy(&state[DRAW_LOW], &low, sizeof low);
	memcpy(&state[DRAW_SPAN], &span, sizeof span);
}

Test(draw, floats_are_what_the_library_says)
{
	static double x[MOST];
	static float y[MOST];
	uint64_t state[DRAW_LENGTH];

	for (int level = 0; level <= (int)isa_best(); level++)
		for (unsigned op = OP_DRAW_UNIFORM; op <= OP_DRAW_EXPONENTIAL; op++) {
			state_of(state, 0, 1);
			draw_loop(isa[level], op, DT_FLOAT64)(x, state, 0, MOST);
			draw_loop(isa[level], op, DT_FLOAT32)(y, state, 0, MOST);
			for (uint64_t i = 0; i < MOST; i++) {
				cr_assert_lt(close_to(x[i], wanted(op, state, i)), 4e-15,
					     "%s %llu: %.17g", op_text(op), (unsigned long long)i,
					     x[i]);
				cr_assert_lt(close_to((double)y[i], x[i]), 2e-7);
			}
			state_of(state, 10, 0.5);
			draw_loop(isa[level], op, DT_FLOAT64)(x, state, 0, MOST);
			for (uint64_t i = 0; i < MOST; i++)
				cr_assert_lt(close_to(x[i], wanted(op, state, i)), 4e-15);
		}
}

Test(draw, integers_are_halves_of_products)
{
	static const uint64_t spans[] = {
		1, 2, 10, 0xffffffff, 1ull << 32, 1ull << 40, UINT64_MAX - 5, 0};
	static uint64_t x[MOST];
	uint64_t state[DRAW_LENGTH];

	for (int level = 0; level <= (int)isa_best(); level++)
		for (size_t k = 0; k < sizeof spans / sizeof *spans; k++) {
			state_of(state, 0, 0);
			state[DRAW_LOW] = (uint64_t)-7;
			state[DRAW_SPAN] = spans[k];
			draw_loop(isa[level], OP_DRAW_INTEGERS, DT_INT64)(x, state, 0, MOST);
			for (uint64_t i = 0; i < MOST; i++) {
				bool one = spans[k] && spans[k] <= UINT32_MAX;
				uint64_t high =
					one ? element(state, i, i / 8 % 2) : word_of(state, i, 1);
				uint64_t low = one ? 0 : word_of(state, i, 0);
				draw_wide span = spans[k] ? spans[k] : (draw_wide)1 << 64;
				draw_wide carry = (draw_wide)low * span >> 64;
				uint64_t want = (uint64_t)(((draw_wide)high * span + carry) >> 64);

				cr_assert_eq(x[i], want - 7, "span %zu, %llu", k,
					     (unsigned long long)i);
			}
		}
}

/* Word by word, and each word in halves for float32. */
static void plain_pcg(double *x, float *y, const uint64_t *state, int64_t n)
{
	draw_wide step = draw_wide_of(state + DRAW_STEP), at = draw_wide_of(state + DRAW_STATE);
	uint64_t word = 0;
	bool left = state[DRAW_HALF] >> 32;
	uint32_t half = (uint32_t)state[DRAW_HALF];

	for (int64_t i = 0; i < n; i++) {
		at = at * DRAW_PCG_FACTOR + step;
		x[i] = (double)(draw_pcg_word(at) >> 11) * 0x1p-53;
	}
	at = draw_wide_of(state + DRAW_STATE);
	for (int64_t i = 0; i < n; i++, left = !left) {
		if (left) {
			y[i] = (float)(half >> 8) * 0x1p-24f;
			continue;
		}
		at = at * DRAW_PCG_FACTOR + step;
		word = draw_pcg_word(at);
		half = (uint32_t)(word >> 32);
		y[i] = (float)((uint32_t)word >> 8) * 0x1p-24f;
	}
}

Test(draw, pcg64_from_any_place)
{
	static double x[MOST], want_x[MOST];
	static float y[MOST], want_y[MOST];
	const double one = 1;

	for (uint64_t left = 0; left < 2; left++) {
		uint64_t state[DRAW_LENGTH] = {0x0123456789abcdef, 0xfedcba9876543210,
					       0x1111111111111111, 0x2222222222222222,
					       left << 32 | 0xdeadbeef};

		memcpy(&state[DRAW_SPAN], &one, sizeof one);
		plain_pcg(want_x, want_y, state, MOST);
		for (int level = 0; level <= (int)isa_best(); level++)
			for (int64_t at = 0; at < MOST; at += 16 * (1 + at % 3))
				for (int64_t n = 1; at + n <= MOST; n = n * 3 + 1) {
					draw_loop(isa[level], OP_PCG64,
						  DT_FLOAT64)(x, state, (uint64_t)at, n);
					draw_loop(isa[level], OP_PCG64,
						  DT_FLOAT32)(y, state, (uint64_t)at, n);
					cr_assert_arr_eq(x, want_x + at, (size_t)n * sizeof *x);
					cr_assert_arr_eq(y, want_y + at, (size_t)n * sizeof *y,
							 "half %d, [%lld, +%lld)", (int)left,
							 (long long)at, (long long)n);
				}
	}
}

/* What is left of a word goes on in the next draw. */
Test(draw, pcg64_goes_on)
{
	static double x[MOST], want_x[MOST];
	static float y[MOST], want_y[MOST];

	for (uint64_t left = 0; left < 2; left++)
		for (int64_t n = 0; n < 70; n++) {
			uint64_t state[DRAW_LENGTH] = {5, 6, 7, 8, left << 32 | 99},
				 next[DRAW_LENGTH];

			plain_pcg(want_x, want_y, state, 100);
			memcpy(next, state, sizeof next);
			draw_pcg_skip(next, DT_FLOAT32, (uint64_t)n);
			plain_pcg(x, y, next, 20);
			cr_assert_arr_eq(y, want_y + n, 20 * sizeof *y, "after %lld", (long long)n);
			memcpy(next, state, sizeof next);
			draw_pcg_skip(next, DT_FLOAT64, (uint64_t)n);
			plain_pcg(x, y, next, 20);
			cr_assert_arr_eq(x, want_x + n, 20 * sizeof *x);
			cr_assert_eq(next[DRAW_HALF], state[DRAW_HALF]);
		}
}

/* Elements do not depend on where a part begins and ends. */
Test(draw, in_any_cut)
{
	static char whole[MOST * 8], part[MOST * 8];
	uint64_t state[DRAW_LENGTH];

	state_of(state, 3, 7);
	for (unsigned op = OP_PCG64; op <= OP_DRAW_WORDS; op++)
		for (unsigned d = 0; d < DTYPE_END; d++) {
			size_t size = dtype_row(d)->bytes;
			draw_fn *fill = draw_loop(isa[isa_best()], op, d);

			cr_assert_eq(fill != NULL, op_draws((enum op)op, d), "%s of %s",
				     op_text(op), dtype_row(d)->name);
			if (!fill)
				continue;
			fill(whole, state, 0, MOST);
			for (size_t at = 0; at < MOST; at += 16 + at / 16 * 16) {
				size_t n = at + 1000 < MOST ? 1000 - at % 7 : MOST - at;

				memset(part, 0x55, sizeof part);
				fill(part, state, at, (int64_t)n);
				cr_assert_arr_eq(part, whole + at * size, n * size, "%s",
						 op_text(op));
				cr_assert_eq(part[n * size], 0x55, "%s writes too far",
					     op_text(op));
				for (int level = 0; level < (int)isa_best(); level++) {
					draw_loop(isa[level], op, d)(part, state, at, (int64_t)n);
					cr_assert_arr_eq(part, whole + at * size, n * size,
							 "%s, level %d", op_text(op), level);
				}
			}
		}
}

static struct plan_call step(int64_t n)
{
	return (struct plan_call){.call = CALL_DRAW,
				  .dtype = DT_FLOAT64,
				  .nloop = 2,
				  .op = OP_DRAW_NORMAL,
				  .extent = {n, DRAW_LENGTH},
				  .operand = {{.dtype = DT_UINT64, .stride = {0, 8}},
					      {.dtype = DT_FLOAT64, .stride = {8, 0}}}};
}

Test(draw, as_a_step)
{
	struct plan_call c = step(100001);
	struct call_units u;
	int64_t lo = 0, hi = 0;

	cr_assert_eq(call_check(&c, NULL), OK);
	call_range(&lo, &hi, &c, 0);
	cr_assert(lo == 0 && hi == 64);
	call_range(&lo, &hi, &c, 1);
	cr_assert(lo == 0 && hi == 800008);
	call_row(CALL_DRAW)->units(&u, &c, false);
	cr_assert_eq(u.total, 100001 / DRAW_UNIT + 1);
	cr_assert(!u.kept && u.grain == 1);
	cr_assert_eq(call_row(CALL_DRAW)->work(&c), 100001);
	for (int mistake = 0; mistake < 8; mistake++) {
		c = step(1000);
		if (mistake == 0)
			c.op = OP_CUMSUM;
		else if (mistake == 1)
			c.nloop = 1;
		else if (mistake == 2)
			c.extent[1] = 7;
		else if (mistake == 3)
			c.operand[0].dtype = DT_INT64;
		else if (mistake == 4)
			c.dtype = DT_INT64;
		else if (mistake == 5)
			c.operand[1].stride[0] = 16;
		else if (mistake == 6)
			c.operand[0].stride[0] = 8;
		else
			c.operand[1].dtype = DT_FLOAT32;
		cr_assert_eq(call_check(&c, NULL), E_INTERNAL, "mistake %d", mistake);
	}
}
