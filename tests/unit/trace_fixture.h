/* SPDX-License-Identifier: Apache-2.0 */
/* A trace on an arena of its own, and short names to record ops on it. */
#ifndef TRACE_FIXTURE_H
#define TRACE_FIXTURE_H

#include <criterion/criterion.h>
#include <string.h>
#include <uv.h>

#include "imm.h"
#include "trace/record.h"

static uv_loop_t loop;
static struct arena *arena;
static struct trace trace;
static struct err err;

/* Columns under construction. */
static uint32_t head[4096], out[4096], in[16384];
static uint64_t imm[16384];
static struct record_columns columns;

__attribute__((unused)) static void fixture_setup(void)
{
	uv_loop_init(&loop);
	cr_assert_eq(arena_create(&arena, &loop, 1ull << 30, &err), OK);
	trace_init(&trace, arena, 0);
	columns = (struct record_columns){.head = head, .out = out, .in = in, .imm = imm};
}

/* Every test ends with nothing left: arrays, pending ops, arena bytes. */
__attribute__((unused)) static void fixture_teardown(void)
{
	struct arena_stats stats;

	trace_finish(&trace);
	cr_assert_eq(trace.npending, 0);
	cr_assert_eq(trace.held_bytes, 0);
	arena_get_stats(arena, &stats);
	cr_assert_eq(stats.live_bytes, stats.leased_bytes);
	arena_destroy(arena);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

__attribute__((unused)) static enum status flush(void)
{
	enum status st = record_ops(&trace, &columns, &err);

	columns.nhead = columns.nout = columns.nin = columns.nimm = 0;
	return st;
}

__attribute__((unused)) static void put(enum op op, unsigned dtype, unsigned nin, unsigned nimm,
					uint32_t result)
{
	head[columns.nhead++] =
		(uint32_t)op | dtype << 16 | nin << 24 | (nimm > 15 ? 15u : nimm) << 28;
	out[columns.nout++] = result;
}

__attribute__((unused)) static void operand(uint32_t id)
{
	in[columns.nin++] = id;
}

__attribute__((unused)) static void word(uint64_t w)
{
	imm[columns.nimm++] = w;
}

__attribute__((unused)) static void scalar(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	in[columns.nin++] = 1u << 31 | 1u << 8 | DT_FLOAT64;
	word(bits);
}

/* id: a stored vector of n doubles. */
__attribute__((unused)) static void import(uint32_t id, uint64_t n)
{
	struct extent e;

	cr_assert_eq(arena_lease(arena, &e, n * 8, &err), OK, "%s", err.text);
	put(OP_IMPORT, DT_FLOAT64, 0, 3, id);
	word(e.offset);
	word(1);
	word(n);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

__attribute__((unused)) static void binary(enum op op, uint32_t result, uint32_t a, uint32_t b)
{
	put(op, 255, 2, 0, result);
	operand(a);
	operand(b);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

__attribute__((unused)) static void unary(enum op op, uint32_t result, uint32_t a)
{
	put(op, 255, 1, 0, result);
	operand(a);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

__attribute__((unused)) static void drop(uint32_t id)
{
	put(OP_DROP, 255, 1, 0, 0);
	operand(id);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

/* result: elements [first, first + n) of vector a. */
__attribute__((unused)) static void slice(uint32_t result, uint32_t a, uint64_t first, uint64_t n)
{
	put(OP_VIEW, DT_FLOAT64, 1, 4, result);
	operand(a);
	word(1);
	word(first * 8);
	word(n);
	word(8);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

__attribute__((unused)) static void assign(uint32_t dst, uint32_t src)
{
	put(OP_ASSIGN, 255, 2, 0, 0);
	operand(dst);
	operand(src);
	cr_assert_eq(flush(), OK, "%s", err.text);
}

#endif
