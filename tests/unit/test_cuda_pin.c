/* SPDX-License-Identifier: Apache-2.0 */
/* Registered chunks of an arena and memory that is given back under them: asked for
 * before, it is safe; and the stand-in tells when it is not. */
#define _GNU_SOURCE
#include "cuda_bench.h"

#include <fcntl.h>
#include <stdio.h>

#define KIB   1024ull
#define CHUNK (64 * KIB)
enum { DEVICE = 2, N = 1 << 20 };

static struct bench *begin(const char *settings, const char *limit_mib)
{
	struct bench *b = NULL;

	standin(settings);
	setenv("BRAZE_WORKER_PIN_MIB", limit_mib, 1);
	setenv("BRAZE_WORKER_PIN_CHUNK_KIB", "64", 1);
	b = bench_open();
	device_region(b, DEVICE, N);
	return b;
}

/* n bytes to the device and back behind them; what arrives is what was there. */
static void round_trip(struct bench *b, uint64_t at, uint64_t n, int value)
{
	memset(b->mem + at, value, n);
	memset(b->mem + at + (8ull << 20), 0xee, n);
	run_begin(b);
	run_copy(b, ARENA, at, DEVICE, 0, 0, (int64_t)n);
	run_copy(b, DEVICE, 0, ARENA, at + (8ull << 20), 0, (int64_t)n);
	run_end(b, 1, OK);
	for (uint64_t i = 0; i < n; i++)
		cr_assert_eq(b->mem[at + (8ull << 20) + i], (char)value, "byte %lu of turn %d",
			     (long)i, value);
}

static uint64_t registered(const struct bench *b)
{
	return atomic_load(&b->page->registered_bytes);
}

static void wait_registered(const struct bench *b, uint64_t want)
{
	for (int i = 0; i < 2000 && registered(b) != want; i++)
		usleep(1000);
	cr_assert_eq(registered(b), want, "%lu", (long)registered(b));
	usleep(20000); /* it is counted from when it is asked for */
}

static void release(struct bench *b, uint32_t region, uint64_t at, uint64_t n)
{
	struct reply r;

	send_simple(b, CMD_RELEASE, region, at, n, -1);
	r = receive(b);
	cr_assert_eq(r.done.head.kind, DONE_RELEASE);
	cr_assert_eq(r.done.head.id, region);
	cr_assert_eq(r.done.head.ticket, at);
	cr_assert_eq(r.done.head.arg, n);
}

static void punch(struct bench *b, uint64_t at, uint64_t n)
{
	cr_assert_eq(fallocate(b->arena, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
			       (off_t)n),
		     0);
}

Test(cuda_pin, what_is_released_can_be_punched, .timeout = 60)
{
	struct bench *b = begin("", "64");

	for (int turn = 0; turn < 5; turn++) {
		round_trip(b, 0, N, 3 * turn + 1);
		round_trip(b, 0, N, 3 * turn + 2);
		wait_registered(b, 2 * N);
		round_trip(b, 0, N, 3 * turn + 3);
		release(b, ARENA, 0, N);
		cr_assert_eq(registered(b), N);
		release(b, ARENA, 8ull << 20, N);
		cr_assert_eq(registered(b), 0);
		punch(b, 0, N);
		punch(b, 8ull << 20, N);
	}
	bench_close(b);
}

/* The neighbours of what goes stay registered, and what only touches it goes too. */
Test(cuda_pin, whole_chunks_go, .timeout = 60)
{
	struct bench *b = begin("", "64");

	round_trip(b, 0, N, 1);
	round_trip(b, 0, N, 2);
	wait_registered(b, 2 * N);
	release(b, ARENA, 3 * CHUNK - 4096, 8192);
	cr_assert_eq(registered(b), 2 * N - 2 * CHUNK);
	punch(b, 3 * CHUNK - 4096, 8192);
	round_trip(b, 0, N, 3);
	bench_close(b);
}

/* A worker that was not asked: the check that the other tests rely on. */
Test(cuda_pin, a_punch_without_asking_is_found, .timeout = 60)
{
	struct bench *b = begin("log=/dev/null", "64");

	round_trip(b, 0, N, 1);
	round_trip(b, 0, N, 2);
	wait_registered(b, 2 * N);
	punch(b, 0, N);
	memset(b->mem, 3, N);
	run_begin(b);
	run_copy(b, ARENA, 0, DEVICE, 0, 0, N);
	run_send(b, 9);
	cr_assert_eq(bench_wait(b), 3);
	bench_free(b);
}

/* A client that punches its own arena spoils its own values; nothing faults. */
Test(cuda_pin, a_hostile_client_hurts_itself, .timeout = 60)
{
	struct bench *b = begin("stale=0", "64");

	for (uint64_t i = 0; i < 20; i++) {
		run_begin(b);
		run_copy(b, ARENA, 0, DEVICE, 0, 0, N);
		run_copy(b, DEVICE, 0, ARENA, 0, 0, N);
		run_send(b, i + 1);
		punch(b, 0, N);
		cr_assert_eq(receive(b).done.status, OK);
	}
	release(b, ARENA, 0, N);
	bench_close(b);
}

/* Copies under way end first: the answer waits for them. */
Test(cuda_pin, a_release_waits_for_copies, .timeout = 60)
{
	struct bench *b = begin("delay_us=1000", "64");
	struct reply r;
	bool answered = false;

	round_trip(b, 0, N, 1);
	round_trip(b, 0, N, 2);
	wait_registered(b, 2 * N);
	run_begin(b);
	for (int i = 0; i < 10; i++)
		run_copy(b, ARENA, 0, DEVICE, 0, 0, N);
	run_send(b, 5);
	usleep(30000);
	send_simple(b, CMD_RELEASE, ARENA, 0, N, -1);
	for (int i = 0; i < 2; i++) {
		r = receive(b);
		cr_assert(r.done.head.kind != DONE_RELEASE || i == 1, "answered under a copy");
		answered |= r.done.head.kind == DONE_RELEASE;
	}
	cr_assert(answered);
	bench_close(b);
}

Test(cuda_pin, unknown_ranges_are_answered_too, .timeout = 60)
{
	struct bench *b = begin("", "64");

	release(b, 77, 0, N);
	release(b, DEVICE, 0, N);
	release(b, ARENA, 0, N);
	release(b, ARENA, ARENA_BYTES, N);
	release(b, ARENA, UINT64_MAX - 4096, 4096);
	bench_close(b);
}

/* Beyond the limit the rings serve, until there is room again. */
Test(cuda_pin, room_comes_back, .timeout = 60)
{
	struct bench *b = begin("", "1");

	for (int turn = 1; turn < 4; turn++)
		round_trip(b, 0, N, turn);
	wait_registered(b, N);
	release(b, ARENA, 0, N);
	release(b, ARENA, 8ull << 20, N);
	wait_registered(b, 0);
	for (int turn = 4; turn < 8; turn++)
		round_trip(b, 16ull << 20, N, turn);
	wait_registered(b, N);
	bench_close(b);
}

Test(cuda_pin, not_forgotten_by_the_driver, .timeout = 60)
{
	struct bench *b = begin("fail=cuMemHostUnregister:1:713", "64");

	for (int turn = 1; turn < 4; turn++)
		round_trip(b, 0, N, turn);
	wait_registered(b, 2 * N);
	release(b, ARENA, 0, N);
	round_trip(b, 0, N, 5);
	bench_close(b);
}

/* Nothing is registered where that is switched off. */
Test(cuda_pin, off, .timeout = 60)
{
	struct bench *b = begin("fail=cuMemHostRegister:1:719", "0");

	for (int turn = 1; turn < 4; turn++)
		round_trip(b, 0, N, turn);
	cr_assert_eq(registered(b), 0);
	release(b, ARENA, 0, N);
	bench_close(b);
}

/* It is on without settings: the second copy of a whole chunk registers it. */
Test(cuda_pin, on_by_default, .timeout = 60)
{
	struct bench *b = NULL;

	standin("");
	unsetenv("BRAZE_WORKER_PIN_MIB");
	unsetenv("BRAZE_WORKER_PIN_CHUNK_KIB");
	b = bench_open();
	device_region(b, DEVICE, 8ull << 20);
	for (uint64_t i = 0; i < 2; i++) {
		run_begin(b);
		run_copy(b, ARENA, 0, DEVICE, 0, 0, 8 << 20);
		run_end(b, i + 1, OK);
	}
	wait_registered(b, 8ull << 20);
	bench_close(b);
}

/* Some machines refuse, by whatever code: copies are staged, nobody is to blame. */
Test(cuda_pin, a_refusal_ends_registering_and_nothing_else, .timeout = 60)
{
	static const int codes[] = {2, 304, 800, 801, 999};

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		char rules[128];
		struct bench *b = NULL;

		/* A second one would be let through, and counted. */
		snprintf(rules, sizeof rules, "fail=cuMemHostRegister_v2:1:%d", codes[i]);
		b = begin(rules, "64");
		for (int turn = 0; turn < 4; turn++) {
			round_trip(b, 0, CHUNK, 5 * turn + 1);
			usleep(20000);
		}
		cr_assert_eq(registered(b), 0, "code %d", codes[i]);
		bench_close(b);
	}
}
