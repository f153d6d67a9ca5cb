/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed in the recording call: what it writes, and what it sends. */
#include "fake_daemon.h"

#include "near.h"

/* ---- The drivers ---- */

static struct near *make(void)
{
	struct near *n = calloc(1, sizeof(*n));

	n->lib = near_library();
	cr_assert(n->lib, "the loops lie where the build puts them");
	n->scratch = aligned_alloc(64, sizeof(*n->scratch));
	return n;
}

static void unmake(struct near *n)
{
	free(n->scratch);
	free(n);
}

static struct shape shape_of(int ndim, int64_t a, int64_t b)
{
	return (struct shape){(uint8_t)ndim, {a, b}};
}

#define MOST 1088 /* with 64 more a multiple of the alignment */

/* Operands that end where they may be read no further, one of them strided. */
Test(client_near, a_map_reads_its_operands_and_nothing_behind_them)
{
	const int64_t counts[] = {1, 7, 8, 9, 15, 16, 17, 511, 512, 513, 1024, 1041};
	struct near *n = make();
	double *out = aligned_alloc(64, (MOST + 64) * sizeof(*out));

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		int64_t count = counts[c], apart = -2 * (int64_t)sizeof(double);
		struct shape shape = shape_of(1, count, 0);
		double *a = malloc((size_t)count * sizeof(*a));
		double *b = malloc((size_t)count * 2 * sizeof(*b));
		for (int64_t i = 0; i < count; i++)
			a[i] = (double)i;
		for (int64_t i = 0; i < 2 * count; i++)
			b[i] = 1000.0 * (double)i;
		struct near_in in[2] = {{.at = (char *)a, .reach = count},
					{.at = (char *)(b + 2 * count - 1), .stride = &apart}};
		in[0].dtype = in[0].loop = in[1].dtype = in[1].loop = DT_FLOAT64;
		near_map(n, OP_ADD, (char *)out, DT_FLOAT64, &shape, count, 2, in);
		for (int64_t i = 0; i < count; i++)
			cr_assert_eq(out[i], a[i] + b[2 * count - 1 - 2 * i], "%lld of %lld",
				     (long long)i, (long long)count);
		free(a);
		free(b);
	}
	free(out);
	unmake(n);
}

Test(client_near, a_store_writes_the_elements_of_its_view_only)
{
	struct near *n = make();
	int16_t to[40 * 33];
	float *from = malloc(13 * 11 * sizeof(*from));
	struct view v = {
		.dtype = DT_INT16, .shape = shape_of(2, 13, 11), .stride = {3 * 66, 3 * 2}};
	struct near_in in = {.at = (char *)from, .reach = 13 * 11, .dtype = DT_FLOAT32};

	for (int i = 0; i < 13 * 11; i++)
		from[i] = (float)i;
	memset(to, 0x55, sizeof(to));
	in.loop = DT_INT16;
	near_store(n, (char *)to, &v, 13 * 11, &in);
	for (int i = 0; i < 40 * 33; i++) {
		int row = i / 33, column = i % 33;
		bool mine = row % 3 == 0 && row / 3 < 13 && column % 3 == 0;
		cr_assert_eq(to[i], mine ? row / 3 * 11 + column / 3 : 0x5555, "%d", i);
	}
	free(from);
	unmake(n);
}

Test(client_near, a_reduction_is_the_same_by_rows_and_by_columns)
{
	enum { ROWS = 300, COLUMNS = 70 };
	struct near *n = make();
	double *a = malloc(sizeof(*a) * ROWS * COLUMNS),
	       *turned = malloc(sizeof(*a) * ROWS * COLUMNS);
	double *out[2] = {aligned_alloc(64, 4096), aligned_alloc(64, 4096)};

	for (int r = 0; r < ROWS; r++)
		for (int c = 0; c < COLUMNS; c++)
			a[r * COLUMNS + c] = turned[c * ROWS + r] = 1.0 / (1 + r * 7 + c * 3);
	for (int k = 0; k < 2; k++) {
		int64_t stride[2] = {k ? 8 : COLUMNS * 8, k ? ROWS * 8 : 8};
		struct shape shape = shape_of(2, ROWS, COLUMNS);
		struct near_in in = {.at = (char *)(k ? turned : a),
				     .stride = stride,
				     .reach = ROWS * COLUMNS,
				     .dtype = DT_FLOAT64};
		in.loop = DT_FLOAT64;
		near_reduction(n, OP_SUM, (char *)out[k], DT_FLOAT64, &shape, 1, &in);
	}
	cr_assert_eq(memcmp(out[0], out[1], COLUMNS * sizeof(double)), 0);
	free(a);
	free(turned);
	free(out[0]);
	free(out[1]);
	unmake(n);
}

/* ---- The session ---- */

static struct fake *near_daemon(void)
{
	struct fake *f = fake_start();

	f->near = true;
	return f;
}

static uint64_t near_ops(braze_session *s)
{
	struct braze_counters c;

	braze_get_counters(s, &c);
	return c.near;
}

Test(client_near, what_is_at_hand_and_small_sends_nothing)
{
	struct fake *f = near_daemon();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a), *c = fake_op("sqrt", b, NULL);
	double value[4];

	cr_assert_eq(near_ops(s), 2);
	cr_assert(braze_is_stored(c));
	cr_assert_eq(braze_read(value, c, NULL), 0);
	braze_release(a);
	braze_release(b);
	braze_release(c);
	struct braze_counters done;
	braze_get_counters(s, &done);
	cr_assert_eq(done.ops, 0);
	cr_assert_eq(done.packets, 1, "hello alone");
	braze_close(s);
	fake_stop(f);
}

Test(client_near, a_far_operation_imports_a_near_array_once_with_its_views)
{
	struct fake *f = near_daemon();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *v = NULL, *big = NULL, *r[2] = {NULL, NULL};
	const int64_t start = 1, count = 2, step = 1, shape[2] = {50000, 2};
	braze_scalar one = braze_double(1);

	cr_assert_eq(braze_slice(&v, a, &start, &count, &step, NULL), 0);
	cr_assert_eq(braze_full(&big, s, BRAZE_FLOAT64, 2, shape, one, NULL), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(braze_binary(&r[i], braze_op_find("add"), big, v, NULL), 0);
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "IMPORT.float64 4 <- [0 1 4]\n"), "%s", f->log);
	cr_assert_eq(near_ops(s), 0);
	for (int i = 0; i < 2; i++)
		braze_release(r[i]);
	braze_release(a);
	braze_release(v);
	braze_release(big);
	braze_close(s);
	fake_stop(f);
}

Test(client_near, a_snapshot_keeps_its_value_and_its_address)
{
	struct fake *f = near_daemon();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = NULL, *c = NULL;
	const void *at = NULL, *again = NULL;
	double before[4], after[4];

	cr_assert_eq(braze_snapshot(&b, a, NULL), 0);
	cr_assert_eq(braze_snapshot(&c, a, NULL), 0);
	cr_assert_eq(braze_data(&at, b, NULL, NULL, NULL), 0);
	cr_assert_eq(braze_data(&again, c, NULL, NULL, NULL), 0);
	cr_assert_eq(at, again, "exports of one value share memory");
	cr_assert_eq(braze_read(before, b, NULL), 0);
	cr_assert_eq(braze_assign(a, (braze_arg){.scalar = braze_double(-5)}, NULL), 0);
	cr_assert_eq(braze_read(after, b, NULL), 0);
	cr_assert_eq(memcmp(before, after, sizeof(before)), 0);
	cr_assert_eq(memcmp(before, at, sizeof(before)), 0);
	cr_assert_eq(braze_read(after, a, NULL), 0);
	cr_assert_eq(after[3], -5.0);
	cr_assert_neq(braze_assign(b, (braze_arg){.scalar = braze_double(1)}, NULL), 0);
	braze_release(a);
	braze_release(b);
	braze_release(c);
	braze_close(s);
	fake_stop(f);
}

Test(client_near, other_loops_at_the_daemon_switch_it_off)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = fake_op("add", a, a);

	cr_assert_eq(near_ops(s), 0);
	braze_release(a);
	braze_release(b);
	braze_close(s);
	fake_stop(f);
}

Test(client_near, the_session_decides)
{
	struct fake *f = near_daemon();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = fake_array(s, 4), *b = NULL;

	braze_set_flags(s, BRAZE_UNFUSED);
	b = fake_op("add", a, a);
	cr_assert_eq(near_ops(s), 0);
	braze_set_flags(s, 0);
	braze_release(b);
	b = fake_op("negative", a, NULL);
	cr_assert_eq(near_ops(s), 1, "an array that was imported is at hand");
	braze_release(a);
	braze_release(b);
	braze_close(s);
	fake_stop(f);
}

/* ---- Loans, and memory that is given ---- */

static int dropped;

static void drop(void *of)
{
	dropped++;
	free(of);
}

static braze_array *given(braze_session *s, int64_t n)
{
	double *data = malloc((size_t)n * sizeof(*data));
	braze_array *a = NULL;

	for (int64_t i = 0; i < n; i++)
		data[i] = (double)i;
	dropped = 0;
	cr_assert(braze_give(&a, s, BRAZE_FLOAT64, 1, &n, data, drop, data));
	return a;
}

/* Values of so many doubles, made and let go of: how many free blocks of their size there are. */
static unsigned kept_of(struct braze_session *s, int count, int64_t doubles)
{
	struct braze_array *a[16];
	struct shape shape = shape_of(1, doubles, 0);
	unsigned size = 0, kept = 0;

	for (int i = 0; i < count; i++) {
		a[i] = near_array(s, DT_FLOAT64, &shape, doubles);
		cr_assert(a[i]);
		size = a[i]->buf->block->size;
	}
	for (int i = 0; i < count; i++)
		braze_release(a[i]);
	for (const struct near_block *b = s->near_made->free[size]; b; b = b->next)
		kept++;
	cr_assert(s->near_made->kept <= NEAR_POOL + NEAR_CHUNKS * NEAR_CHUNK);
	return kept;
}

Test(client_near, free_blocks_of_other_sizes_make_room)
{
	struct fake *f = near_daemon();
	braze_session *s = fake_connect(f, 0);

	cr_assert_eq(kept_of(s, 9, 1000000), NEAR_POOL >> 23, "of those that are too many");
	cr_assert_eq(kept_of(s, 2, 2000000), 2);
	cr_assert_eq(kept_of(s, 3, 2000000), NEAR_POOL >> 24);
	cr_assert_eq(kept_of(s, 2, 1000000), 2);
	cr_assert_eq(kept_of(s, 1, 100), 1);
	braze_close(s);
	fake_stop(f);
}

Test(client_near, given_memory_is_copied_when_it_is_shared_and_written)
{
	struct fake *f = near_daemon();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = given(s, 1000000), *b = NULL;
	const double *kept = NULL;
	double *own = NULL;

	cr_assert(braze_is_stored(a) && braze_is_near(a));
	cr_assert_eq(braze_snapshot(&b, a, NULL), 0);
	cr_assert_eq(braze_data((const void **)&kept, b, NULL, NULL, NULL), 0);
	cr_assert_eq(braze_fence((void **)&own, a, NULL, NULL, NULL), 0);
	cr_assert_neq((const double *)own, kept);
	own[999999] = -1;
	cr_assert_eq(kept[999999], 999999.0);
	cr_assert_eq(dropped, 0);
	braze_release(b);
	cr_assert_eq(dropped, 1);
	braze_release(a);
	cr_assert_eq(dropped, 1, "the copy is the library's own");
	braze_close(s);
	fake_stop(f);
}

Test(client_near, given_memory_goes_when_it_was_shipped_unless_it_is_lent)
{
	struct fake *f = near_daemon();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = given(s, 1000000), *r = NULL;
	braze_loan loan;

	cr_assert(braze_lend(&loan, a));
	cr_assert_eq(braze_binary(&r, braze_op_find("add"), a, a, NULL), 0);
	braze_flush(s, NULL);
	cr_assert(fake_saw(f, "IMPORT.float64"), "%s", f->log);
	cr_assert_eq(dropped, 0);
	cr_assert_eq(((const double *)loan.data)[999999], 999999.0);
	braze_end_loan(s, &loan);
	cr_assert_eq(dropped, 1);
	braze_release(r);
	braze_release(a);
	cr_assert_eq(dropped, 1);
	braze_close(s);
	fake_stop(f);
}

Test(client_near, what_was_lent_keeps_its_value_and_what_is_pending_is_not_lent)
{
	struct fake *f = near_daemon();
	braze_session *s = fake_connect(f, 0);
	const int64_t many = 1000000;
	braze_array *a = fake_array(s, 4), *big = NULL;
	double before[4], after[4];
	braze_loan loan;

	cr_assert_eq(braze_read(before, a, NULL), 0);
	cr_assert(braze_lend(&loan, a));
	cr_assert_eq(braze_assign(a, (braze_arg){.scalar = braze_double(-5)}, NULL), 0);
	cr_assert_eq(memcmp(before, loan.data, sizeof(before)), 0);
	cr_assert_eq(braze_read(after, a, NULL), 0);
	cr_assert_eq(after[0], -5.0);
	braze_end_loan(s, &loan);
	cr_assert_eq(braze_full(&big, s, BRAZE_FLOAT64, 1, &many, braze_double(1), NULL), 0);
	cr_assert_not(braze_lend(&loan, big));
	cr_assert_not(braze_is_near(big));
	braze_release(a);
	braze_release(big);
	braze_close(s);
	fake_stop(f);
}

Test(client_near, memory_is_not_taken_where_nothing_is_near)
{
	struct fake *f = fake_start();
	braze_session *s = fake_connect(f, 0);
	const int64_t n = 4;
	double data[4] = {0};
	braze_array *a = NULL;

	dropped = 0;
	cr_assert_not(braze_give(&a, s, BRAZE_FLOAT64, 1, &n, data, drop, NULL));
	cr_assert_eq(dropped, 0);
	braze_close(s);
	fake_stop(f);
}
