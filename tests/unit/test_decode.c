/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/decode.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "braze.pb-c.h"

static struct decoder *d;
static struct request r;
static struct err err;
static uint8_t bytes[LIMIT_PACKET_BYTES];

static void setup(void)
{
	d = decode_create();
}

static void teardown(void)
{
	decode_destroy(d);
}

TestSuite(decode, .init = setup, .fini = teardown);

static size_t good_request(void)
{
	uint32_t head[3] = {1, 2, 3}, out[3] = {4, 5, 6}, in[2] = {7, 8}, id[1] = {9};
	uint64_t imm[1] = {10};
	Braze__Wire__Trace t = BRAZE__WIRE__TRACE__INIT;
	Braze__Wire__Demand dm = BRAZE__WIRE__DEMAND__INIT;
	Braze__Wire__Request q = BRAZE__WIRE__REQUEST__INIT;

	t.n_head = 3;
	t.head = head;
	t.n_out = 3;
	t.out = out;
	t.n_in = 2;
	t.in = in;
	t.n_imm = 1;
	t.imm = imm;
	dm.ticket = 77;
	dm.n_id = 1;
	dm.id = id;
	q.seq = 5;
	q.trace = &t;
	q.demand = &dm;
	return braze__wire__request__pack(&q, bytes);
}

Test(decode, request_comes_back_as_it_was_packed)
{
	cr_assert_eq(decode_request(&r, d, bytes, good_request(), &err), OK, "%s", err.text);
	cr_assert_eq(r.seq, 5);
	cr_assert(r.has_trace && r.has_demand && !r.has_hello && !r.has_lease);
	cr_assert_eq(r.trace.nhead, 3);
	cr_assert_eq(r.trace.head[2], 3);
	cr_assert_eq(r.trace.imm[0], 10);
	cr_assert_eq(r.demand.ticket, 77);
	cr_assert_eq(r.demand.id[0], 9);
}

Test(decode, every_truncation_is_refused_or_harmless)
{
	size_t n = good_request();

	for (size_t i = 0; i < n; i++)
		if (!decode_request(&r, d, bytes, i, &err))
			cr_assert(!r.has_demand, "%zu of %zu bytes gave the whole request", i, n);
}

Test(decode, offers_are_asked_of_a_device)
{
	const uint8_t asked[] = {0x08, 5, 0x82, 0x01, 4, 0x08, 7, 0x10, 2};
	const uint8_t rates[] = {0x08, 5, 0x82, 0x01, 6, 0x08, 7, 0x10, 2, 0x18, 1};
	const uint8_t more[] = {0x08, 5, 0x82, 0x01, 6, 0x08, 7, 0x10, 2, 0x20, 1};

	cr_assert_eq(decode_request(&r, d, asked, sizeof asked, &err), OK, "%s", err.text);
	cr_assert(r.has_offer && r.offer.ticket == 7 && r.offer.device == 2);
	cr_assert_not(r.offer.rates);
	cr_assert_eq(decode_request(&r, d, rates, sizeof rates, &err), OK, "%s", err.text);
	cr_assert(r.has_offer && r.offer.device == 2 && r.offer.rates);
	cr_assert_eq(decode_request(&r, d, more, sizeof more, &err), E_PROTOCOL);
}

Test(decode, unknown_repeated_and_unpacked_fields_are_refused)
{
	const uint8_t unknown[] = {0x92, 0x01, 0x00}, twice[] = {0x08, 1, 0x08, 1};
	const uint8_t unpacked[] = {0x1a, 5, 0x0d, 1, 0, 0, 0}; /* trace.head as one fixed32 */
	const uint8_t chunks[] = {0x1a, 4, 0x0a, 0, 0x0a, 0};	/* trace.head twice */
	const uint8_t group[] = {0x0b}, zero_tag[] = {0x00, 0x00};
	const uint8_t endless[] = {0x08, 0xff, 0xff, 0xff, 0xff, 0xff,
				   0xff, 0xff, 0xff, 0xff, 0xff, 1};

	cr_assert_eq(decode_request(&r, d, unknown, sizeof unknown, &err), E_PROTOCOL);
	cr_assert_eq(decode_request(&r, d, twice, sizeof twice, &err), E_PROTOCOL);
	cr_assert_eq(decode_request(&r, d, unpacked, sizeof unpacked, &err), E_PROTOCOL);
	cr_assert_eq(decode_request(&r, d, chunks, sizeof chunks, &err), E_PROTOCOL);
	cr_assert_eq(decode_request(&r, d, group, sizeof group, &err), E_PROTOCOL);
	cr_assert_eq(decode_request(&r, d, zero_tag, sizeof zero_tag, &err), E_PROTOCOL);
	cr_assert_eq(decode_request(&r, d, endless, sizeof endless, &err), E_PROTOCOL);
}

Test(decode, column_of_odd_length_is_refused)
{
	const uint8_t odd[] = {0x1a, 5, 0x0a, 3, 1, 2, 3};

	cr_assert_eq(decode_request(&r, d, odd, sizeof odd, &err), E_PROTOCOL);
}

Test(decode, demand_of_nothing_or_too_much_is_refused)
{
	const uint8_t nothing[] = {0x22, 2, 0x08, 1};

	cr_assert_eq(decode_request(&r, d, nothing, sizeof nothing, &err), E_LIMIT);
}

Test(decode, demand_says_what_it_asks_besides)
{
	uint32_t id[1] = {9}, also[LIMIT_DEMAND_ALSO + 1] = {4, 5};
	Braze__Wire__Demand dm = BRAZE__WIRE__DEMAND__INIT;
	Braze__Wire__Request q = BRAZE__WIRE__REQUEST__INIT;

	q.seq = 2;
	q.demand = &dm;
	dm.n_id = 1;
	dm.id = id;
	dm.also = also;
	cr_assert_eq(decode_request(&r, d, bytes, braze__wire__request__pack(&q, bytes), &err), OK);
	cr_assert_eq(r.demand.nalso, 0);
	dm.n_also = LIMIT_DEMAND_ALSO;
	cr_assert_eq(decode_request(&r, d, bytes, braze__wire__request__pack(&q, bytes), &err), OK);
	cr_assert_eq(r.demand.nalso, LIMIT_DEMAND_ALSO);
	cr_assert_eq(r.demand.also[1], 5);
	dm.n_also++;
	cr_assert_eq(decode_request(&r, d, bytes, braze__wire__request__pack(&q, bytes), &err),
		     E_LIMIT);
	dm.n_also = 2;
	dm.n_id = 0;
	cr_assert_eq(decode_request(&r, d, bytes, braze__wire__request__pack(&q, bytes), &err),
		     E_LIMIT, "there is nothing to wait for");
}

Test(decode, explain_and_near_come_back)
{
	Braze__Wire__Explain ex = BRAZE__WIRE__EXPLAIN__INIT;
	Braze__Wire__Request q = BRAZE__WIRE__REQUEST__INIT;

	ex.ticket = 8;
	ex.id = 77;
	q.seq = 2;
	q.near = 1ull << 40;
	q.explain = &ex;
	cr_assert_eq(decode_request(&r, d, bytes, braze__wire__request__pack(&q, bytes), &err), OK,
		     "%s", err.text);
	cr_assert(r.has_explain && r.explain.ticket == 8 && r.explain.id == 77);
	cr_assert_eq(r.near, 1ull << 40);
	cr_assert_eq(decode_request(&r, d, bytes, good_request(), &err), OK);
	cr_assert(!r.has_explain && r.near == 0);
}

Test(decode, a_text_to_compile_comes_back)
{
	Braze__Wire__Compile c = BRAZE__WIRE__COMPILE__INIT;
	Braze__Wire__Request q = BRAZE__WIRE__REQUEST__INIT;

	c.ticket = 9;
	c.text = "kernel f() {\n}";
	q.seq = 2;
	q.compile = &c;
	cr_assert_eq(decode_request(&r, d, bytes, braze__wire__request__pack(&q, bytes), &err), OK,
		     "%s", err.text);
	cr_assert(r.has_compile && r.compile.ticket == 9);
	cr_assert_str_eq(r.compile.text, c.text);
	cr_assert_eq(decode_request(&r, d, bytes, good_request(), &err), OK);
	cr_assert(!r.has_compile);
}

Test(decode, random_bytes_never_crash)
{
	srand(3);
	for (int i = 0; i < 200000; i++) {
		size_t n = good_request();

		for (int k = rand() % 4; k >= 0; k--)
			bytes[(size_t)rand() % n] = (uint8_t)rand();
		if (decode_request(&r, d, bytes, n, &err))
			cr_assert_neq(err.code, OK);
	}
}

Test(decode, a_loop_of_a_kernel)
{
	Braze__Wire__Grid g = BRAZE__WIRE__GRID__INIT;
	Braze__Wire__Request q = BRAZE__WIRE__REQUEST__INIT;
	size_t n = 0;

	g.number = 4096;
	g.text = "kernel";
	g.range = 7;
	g.levels = 3;
	g.fast = 2;
	g.only = 29;
	g.sum = 4711;
	g.keeps = 1u << 29;
	q.seq = 5;
	q.grid = &g;
	n = braze__wire__request__pack(&q, bytes);
	cr_assert_eq(decode_request(&r, d, bytes, n, &err), OK, "%s", err.text);
	cr_assert(r.has_grid && !r.has_trace && r.grid.number == 4096);
	cr_assert_str_eq(r.grid.words.text, "kernel");
	cr_assert(r.grid.words.range == 7 && r.grid.words.levels == 3 && r.grid.words.fast == 2 &&
		  r.grid.words.only == 29 && r.grid.words.sum == 4711 &&
		  r.grid.words.keeps == 1u << 29);
	/* It does not say anything: an empty text. */
	g = (Braze__Wire__Grid)BRAZE__WIRE__GRID__INIT;
	n = braze__wire__request__pack(&q, bytes);
	cr_assert_eq(decode_request(&r, d, bytes, n, &err), OK, "%s", err.text);
	cr_assert(r.has_grid && !*r.grid.words.text);
	/* A field that there is not. */
	g.only = 1;
	n = braze__wire__request__pack(&q, bytes);
	bytes[n - 2] = 9 << 3;
	cr_assert_eq(decode_request(&r, d, bytes, n, &err), E_PROTOCOL);
}
