/* SPDX-License-Identifier: Apache-2.0 */
/* A client's arrays, operations and waits, written and read again; and everything else. */
#define _GNU_SOURCE
#include "trace_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "future/ticket.h"
#include "handover/handover.h"
#include "grid_fixture.h"
#include "handover/handover_file.h"
#include "op_table.h"
#include "plan/demand.h"

static struct shares shares;
static struct grids *grids, *other_grids;

static enum status on_made(void *data, const struct share *h, struct err *e)
{
	return OK;
}

static void on_gone(void *data, struct share *h)
{
}

static void setup(void)
{
	fixture_setup();
	share_start(&shares, &loop, &(struct share_events){on_made, on_gone, NULL});
	trace.shares = &shares;
	grids = grid_table_create();
	other_grids = grid_table_create();
}

static void teardown(void)
{
	trace_clear(&trace);
	share_leave(&trace);
	cr_assert_eq(shares.count, 0);
	share_finish(&shares);
	fixture_teardown();
	cr_assert_eq(grid_table_count(grids) + grid_table_count(other_grids), 0);
	grid_table_destroy(grids);
	grid_table_destroy(other_grids);
}

TestSuite(handover, .init = setup, .fini = teardown);

/* The trace as bytes, and what was made of them. */
static uint8_t *bytes;
static size_t nbytes;
static struct trace other;
static struct ticket_list waits, other_waits;

static void save(void)
{
	Braze__Handover__Session m = BRAZE__HANDOVER__SESSION__INIT;
	struct handover_pile pile = {0};

	m.id = 7;
	handover_save(&m, &pile, &trace, &waits);
	nbytes = protobuf_c_message_get_packed_size(&m.base);
	bytes = malloc(nbytes);
	protobuf_c_message_pack(&m.base, bytes);
	handover_pile_free(&pile);
}

static enum status load_message(Braze__Handover__Session *m)
{
	if (m->arena)
		m->arena->fd = fcntl(arena_fd(arena), F_DUPFD_CLOEXEC, 3);
	return handover_load(&other, &other_waits, &loop, &shares, other_grids, m,
			     op_table_length(), &err);
}

static enum status load(void)
{
	Braze__Handover__Session *m = braze__handover__session__unpack(NULL, nbytes, bytes);
	enum status st = OK;

	cr_assert_not_null(m);
	st = load_message(m);
	braze__handover__session__free_unpacked(m, NULL);
	return st;
}

static void unload(void)
{
	while (other_waits.first)
		ticket_remove(&other_waits, other_waits.first, &other);
	trace_finish(&other);
	arena_destroy(other.arena);
}

static void finish(void)
{
	while (waits.first)
		ticket_remove(&waits, waits.first, &trace);
	free(bytes);
	bytes = NULL;
}

static struct version *current(struct trace *t, uint32_t id)
{
	return trace_current(trace_array(t, id));
}

/* A stored array that others could open, and a wait to publish it. */
static void beside(uint32_t id)
{
	const struct shape shape = {.ndim = 1, .dim = {600}};
	struct version *v = version_create(&trace, 4800, VERSION_PENDING);
	struct publishing *what = calloc(1, sizeof *what);

	version_attach(&trace, v, storage_create(&trace, 4800, HOME_SHARE, &err));
	cr_assert_not_null(v->storage->share, "%s", err.text);
	version_store(&trace, v);
	view_init(&what->view, DT_FLOAT64, &shape);
	cr_assert_eq(trace_define(&trace, id, &what->view, 4800, version_ref(v), &err), OK);
	what->copied = 12;
	snprintf(what->label, sizeof what->label, "a.label");
	ticket_add(&waits, TICKET_PUBLISH, 79, &v, 1, 1, 0, 7)->publishing = what;
	trace.share_from = LIMIT_SHARE_BYTES;
}

/* Of everything that there is, something. */
static void program(void)
{
	struct version *want[2];
	struct version *lost;

	import(1, 100000);
	import(2, 100);
	slice(3, 1, 10, 50);
	binary(OP_ADD, 4, 2, 2);
	unary(OP_SIN, 5, 4);
	drop(4);
	put(OP_PIN, 255, 1, 0, 6);
	operand(2);
	cr_assert_eq(flush(), OK);
	slice(7, 2, 0, 100);
	put(OP_MULTIPLY, 255, 2, 1, 8);
	operand(5);
	scalar(2.5);
	cr_assert_eq(flush(), OK, "%s", err.text);
	assign(3, 3);
	import(9, 10);
	lost = current(&trace, 9);
	err_set(&err, E_LOST, "lost: for a test");
	version_fail(&trace, lost, &err);
	version_detach(&trace, lost);
	want[0] = version_ref(current(&trace, 8));
	want[1] = version_ref(current(&trace, 1));
	ticket_add(&waits, TICKET_DEMAND, 77, want, 1, 1, 1, 5);
	want[0] = version_ref(current(&trace, 3));
	ticket_add(&waits, TICKET_FENCE, 78, want, 1, 1, 0, 6);
	import(10, 4);
	drop(10);
	current(&trace, 8)->home = HOME_SHARE;
	beside(11);
}

static void same_version(const struct version *v, const struct version *w)
{
	cr_assert_eq(v->state, w->state);
	cr_assert_eq(v->refs, w->refs);
	cr_assert_eq(v->pins, w->pins);
	cr_assert_eq(v->named, w->named);
	cr_assert_eq(v->asked, w->asked);
	cr_assert_eq(v->home, w->home);
	if (v->state == VERSION_STORED) {
		cr_assert_eq(v->storage->extent.offset, w->storage->extent.offset);
		cr_assert_eq(v->storage->share, w->storage->share);
		cr_assert_eq(v->storage->home, w->storage->home);
	}
	if (v->state == VERSION_FAILED)
		cr_assert_str_eq(v->error->text, w->error->text);
}

Test(handover, what_is_read_is_what_was_written)
{
	struct arena_stats was, is;
	struct publishing *what;
	struct version *want;
	struct partition *p;

	program();
	save();
	cr_assert_eq(load(), OK, "%s", err.text);
	arena_get_stats(arena, &was);
	arena_get_stats(other.arena, &is);
	cr_assert_eq(was.live_bytes, is.live_bytes);
	cr_assert_eq(was.leased_bytes, is.leased_bytes);
	cr_assert_eq(was.warm_bytes, is.warm_bytes);
	cr_assert_eq(trace.live_arrays, other.live_arrays);
	cr_assert_eq(trace.npending, other.npending);
	cr_assert_eq(trace.held_bytes, other.held_bytes);
	cr_assert_eq(trace.seq, other.seq);
	cr_assert_eq(other.share_from, LIMIT_SHARE_BYTES);
	cr_assert_eq(trace.stats.ops, other.stats.ops);
	for (uint32_t id = 1; id < 12; id++) {
		const struct array *a = trace_array(&trace, id), *b = trace_array(&other, id);

		cr_assert_eq(!a, !b);
		if (!a)
			continue;
		same_version(trace_current(a), trace_current(b));
		cr_assert(shape_equal(&a->view.shape, &b->view.shape));
		cr_assert_eq(a->view.offset, b->view.offset);
	}
	cr_assert_eq(trace_array(&other, 7)->buffer, trace_array(&other, 2)->buffer);
	cr_assert_eq(current(&other, 8)->node->in[1].imm[0],
		     current(&trace, 8)->node->in[1].imm[0]);
	cr_assert_eq(waits.load, other_waits.load);
	cr_assert_eq(ticket_find(&other_waits, 77)->version[0], current(&other, 8));
	what = ticket_find(&other_waits, 79)->publishing;
	cr_assert_str_eq(what->label, "a.label");
	cr_assert_eq(what->copied, 12);
	cr_assert_eq(what->view.shape.dim[0], 600);
	cr_assert_eq(shares.first->refs, 2);
	/* It works on: the operations behind 8 are cut out. */
	want = current(&other, 8);
	demand_partition(&p, &other, &want, 1, false);
	cr_assert_eq(p->part.nop, 3);
	for (uint32_t i = 0; i < p->part.nvalue; i++)
		if (partition_value(p, 0, i)->state == VERSION_RUNNING)
			version_wait(&other, partition_value(p, 0, i));
	partition_free(&other, p);
	unload();
	finish();
}

Test(handover, an_empty_one)
{
	save();
	cr_assert_eq(load(), OK, "%s", err.text);
	cr_assert_eq(other.live_arrays, 0);
	unload();
	finish();
}

/* A loop of a kernel, pending, with another that nothing names. */
static void loops(void)
{
	struct grid_words w = words_of(axpy, 1), v = words_of(adding, 2);
	struct grid *g = NULL;

	v.sum = sum_of(adding) + 1;
	v.keeps = 1;
	/* Numbers of the sessions before. */
	cr_assert_eq(grid_table_take(&g, grids, &v, 0, &err), OK);
	cr_assert_eq(record_define(&trace, grids, 1, &w, 0, &err), OK, "%s", err.text);
	cr_assert_eq(record_define(&trace, grids, 40, &v, 0, &err), OK);
	grid_unref(g);
	import(1, 10);
	import(2, 10);
	vector(3, DT_INT32, 10);
	cr_assert_eq(record_axpy(1, 2, 3, 20), OK, "%s", err.text);
}

Test(handover, loops_come_along_with_their_numbers)
{
	const struct node *n = NULL, *m = NULL;

	loops();
	save();
	cr_assert_eq(load(), OK, "%s", err.text);
	n = current(&trace, 2)->node;
	m = current(&other, 2)->node;
	cr_assert(m->op == OP_GRID && m->axes == n->axes && m->dtype == 20 && m->nin == 5);
	cr_assert_eq(m->prev, m->in[0].version);
	cr_assert_str_eq(grid_names_find(&other.grids, 1)->text, axpy);
	cr_assert_eq(grid_names_find(&other.grids, 1)->number, m->axes);
	cr_assert_eq(grid_names_find(&other.grids, 40)->is.only, 2);
	cr_assert_eq(grid_names_find(&other.grids, 40)->is.sum, sum_of(adding) + 1);
	cr_assert_eq(grid_names_find(&other.grids, 40)->is.keeps, 1);
	cr_assert_eq(grid_table_count(other_grids), 2);
	unload();
	finish();
}

Test(handover, an_operation_of_no_loop_is_refused)
{
	Braze__Handover__Session *m = NULL;

	loops();
	save();
	for (unsigned mistake = 0; mistake < 7; mistake++) {
		Braze__Handover__Node *n = NULL;

		m = braze__handover__session__unpack(NULL, nbytes, bytes);
		for (size_t i = 0; i < m->trace->n_version && (!n || n->op != OP_GRID); i++)
			n = m->trace->version[i]->node;
		switch (mistake) {
		case 0:
			n->axes += 7;
			break;
		case 1:
			n->dtype = LIMIT_GRID_HINT + 1;
			break;
		case 2:
			n->in[3]->view->dtype = DT_FLOAT32;
			break;
		case 3:
			m->trace->grid[0]->number = 0;
			break;
		case 4:
			m->trace->grid[0]->grid = 0;
			break;
		case 5:
			m->trace->grid[0]->range++;
			break;
		default:
			m->trace->grid[1]->grid = m->trace->grid[0]->grid;
		}
		cr_assert_eq(load_message(m), E_INVALID, "mistake %u", mistake);
		cr_assert_eq(grid_table_count(other_grids), 0);
		braze__handover__session__free_unpacked(m, NULL);
	}
	finish();
}

/* No byte of it can do harm: it is refused, or what it makes is whole. */
Test(handover, damage_is_refused_or_harmless)
{
	unsigned refused = 0, undecoded = 0;

	program();
	save();
	for (size_t i = 0; i < nbytes; i++)
		for (unsigned bit = 0; bit < 8; bit += 3) {
			Braze__Handover__Session *m;

			bytes[i] ^= (uint8_t)(1u << bit);
			m = braze__handover__session__unpack(NULL, nbytes, bytes);
			bytes[i] ^= (uint8_t)(1u << bit);
			if (!m) {
				undecoded++;
				continue;
			}
			if (load_message(m) == OK)
				unload();
			else
				refused++;
			braze__handover__session__free_unpacked(m, NULL);
		}
	cr_assert_gt(refused, 50);
	cr_assert_gt(undecoded, 10);
	finish();
}

/* Each of these would give two owners to a byte, or a value to nobody. */
Test(handover, what_contradicts_itself_is_refused)
{
	program();
	save();
	for (int what = 0; what < 9; what++) {
		Braze__Handover__Session *m = braze__handover__session__unpack(NULL, nbytes, bytes);
		Braze__Handover__Trace *t = m->trace;
		Braze__Handover__Node *node = NULL;

		for (size_t i = 0; i < t->n_version; i++)
			node = t->version[i]->node ? t->version[i]->node : node;
		switch (what) {
		case 0:
			t->storage[0]->offset = t->storage[1]->offset;
			break;
		case 1:
			m->arena->top = 64;
			break;
		case 2:
			t->storage[0]->bytes = t->storage[0]->extent + 1;
			break;
		case 3:
			t->array[0]->view->dim[0] = 1 << 30;
			break;
		case 4:
			node->seq = t->seq + 1;
			break;
		case 5:
			node->op = OP_DROP;
			break;
		case 6:
			t->array[1]->id = t->array[0]->id;
			break;
		case 7:
			m->ticket[0]->answers = 100;
			break;
		case 8:
			t->buffer[0]->version = 0;
			break;
		}
		cr_assert_neq(load_message(m), OK, "%d", what);
		braze__handover__session__free_unpacked(m, NULL);
	}
	finish();
}

static void wrong_apart(Braze__Handover__Session *m, int what)
{
	Braze__Handover__Ticket *wait = m->ticket[m->n_ticket - 1];
	Braze__Handover__Storage *apart = NULL, *placed = NULL;

	for (size_t i = 0; i < m->trace->n_storage; i++)
		*(m->trace->storage[i]->region ? &apart : &placed) = m->trace->storage[i];
	switch (what) {
	case 0:
		apart->region++;
		break;
	case 1:
		/* Two write what is nobody's but one's. */
		placed->region = apart->region;
		placed->bytes = apart->bytes;
		placed->offset = placed->extent = 0;
		break;
	case 2:
		apart->bytes++;
		break;
	case 3:
		apart->home = HOME_ARENA + 1;
		break;
	case 4:
		free(wait->publishing->label);
		wait->publishing->label = malloc(LIMIT_PUBLISHED_NAME + 1);
		memset(wait->publishing->label, 'a', LIMIT_PUBLISHED_NAME);
		wait->publishing->label[LIMIT_PUBLISHED_NAME] = 0;
		break;
	case 5:
		wait->publishing->view->dim[0]++;
		break;
	case 6:
		wait->kind = TICKET_DEMAND;
		m->ticket[0]->kind = TICKET_PUBLISH;
		break;
	}
}

/* The same of memory of its own, and of waits to publish. */
Test(handover, what_lies_apart_and_contradicts_itself_is_refused)
{
	program();
	save();
	for (int what = 0; what < 7; what++) {
		Braze__Handover__Session *m = braze__handover__session__unpack(NULL, nbytes, bytes);

		wrong_apart(m, what);
		cr_assert_neq(load_message(m), OK, "%d", what);
		braze__handover__session__free_unpacked(m, NULL);
	}
	finish();
}

/* ---- The file ---- */

static int file_of(const char *text)
{
	Braze__Handover__Asked m = BRAZE__HANDOVER__ASKED__INIT;
	struct handover_out *o = handover_file_begin(&err);
	int fd;

	cr_assert_not_null(o, "%s", err.text);
	m.text = (char *)text;
	for (m.ticket = 1; m.ticket <= 3; m.ticket++)
		cr_assert_eq(handover_file_put(o, &m.base, &err), OK);
	fd = handover_file_seal(o, &err);
	cr_assert_geq(fd, 0, "%s", err.text);
	return fd;
}

Test(handover_file, messages_come_in_their_order)
{
	struct handover_in *file;
	size_t n = 0;

	cr_assert_eq(handover_file_open(&file, file_of("hello"), &err), OK, "%s", err.text);
	for (uint64_t i = 1; i <= 3; i++) {
		const uint8_t *data = handover_file_next(file, &n);
		Braze__Handover__Asked *m = braze__handover__asked__unpack(NULL, n, data);

		cr_assert_eq(m->ticket, i);
		cr_assert_str_eq(m->text, "hello");
		braze__handover__asked__free_unpacked(m, NULL);
	}
	cr_assert_null(handover_file_next(file, &n));
	handover_file_close(file);
}

/* A copy with byte i changed, or cut off there, sealed or not. */
static int copy_of(int fd, size_t i, bool cut, bool sealed)
{
	uint8_t data[4096];
	ssize_t n = pread(fd, data, sizeof data, 0);
	int copy = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (!cut)
		data[i] ^= 1;
	cr_assert_eq(write(copy, data, cut ? i : (size_t)n), (ssize_t)(cut ? i : (size_t)n));
	if (sealed)
		cr_assert_eq(fcntl(copy, F_ADD_SEALS,
				   F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
			     0);
	return copy;
}

Test(handover_file, no_byte_may_differ)
{
	int fd = file_of("a text");
	size_t size = (size_t)lseek(fd, 0, SEEK_END);
	struct handover_in *file;

	for (size_t i = 0; i < size; i++) {
		cr_assert_neq(handover_file_open(&file, copy_of(fd, i, true, true), &err), OK);
		if (i >= 12 && i < 16)
			continue; /* nothing */
		cr_assert_neq(handover_file_open(&file, copy_of(fd, i, false, true), &err), OK,
			      "byte %zu", i);
	}
	cr_assert_eq(handover_file_open(&file, copy_of(fd, 12, false, false), &err), E_INVALID);
	cr_assert(strstr(err.text, "sealed"));
	cr_assert_eq(handover_file_open(&file, -1, &err), E_INVALID);
	/* One bit of the format's number makes it a newer one. */
	cr_assert_eq(handover_file_open(&file, copy_of(fd, 9, false, true), &err), E_VERSION);
	cr_assert(strstr(err.text, "format"));
	close(fd);
}

/* Numbers of operations only grow: who knows more knows those of an older table. */
Test(handover, tables_of_operations_are_compared_by_what_both_know)
{
	unsigned n = op_table_length();

	cr_assert_not_null(op_row(n - 1));
	cr_assert_eq(op_table_prefix(n), op_table_hash());
	cr_assert_neq(op_table_prefix(n), op_table_prefix(n - 1));
	cr_assert_neq(op_table_prefix(OP_ADD), op_table_prefix(OP_ADD + 1));
}
