/* SPDX-License-Identifier: Apache-2.0 */
/* golden/golden_way.c - the whole way of small programs, for a reader's eye.
 *
 *   golden_way FILE...            compare
 *   golden_way --update FILE...   write what is made now
 *
 * A file holds a program, a line "----", then its partition, its plan with the
 * reasons why steps stayed apart, and the C text of each kernel (after a line "cuda"
 * its CUDA text too).  Lines of a program ("#" begins a comment):
 *
 *   in NAME TYPE [3,4]               an array that is stored already
 *   NAME = OP OPERAND...             numbers are Python's; "as TYPE" before operands
 *   NAME = SUM axes 2 OPERAND        reductions: bit mask of axes; scans: the axis
 *   NAME = COMPACT count 5 OPERAND...  how many a mask chooses; PLACES likewise
 *   NAME = CONCATENATE as TYPE axes 0 3 OPERAND...   the axis, the number of operands
 *   NAME = VIEW OPERAND +8 [3:-8]    byte offset, extents and byte strides
 *   NAME = FULL|ARANGE ...           FULL as TYPE 0 [3,4]; ARANGE as TYPE 0 1 24
 *   ASSIGN NAME OPERAND, drop NAME, demand NAME...
 *   depend +0 [8] 8 +8 [8] 8 over [10] same 1    a question to depend.c */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/xalloc.h"
#include "emit/emit_c.h"
#include "nest/compilepart.h"
#include "form/depend.h"
#include "plan/demand.h"
#include "trace/record.h"

#define MARK	"----\n"
#define NAMES	64
#define NO_TYPE 255 /* in the head of an op */

struct way {
	const char *at;
	FILE *out;
	uv_loop_t loop;
	struct arena *arena;
	struct trace trace;
	char name[NAMES][16]; /* [id] */
	/* The op under construction. */
	uint32_t operand[LIMIT_OPERANDS + 1];
	uint64_t imm[64];
	unsigned nin, nimm;
	bool cuda; /* show CUDA text as well */
};

static void bad(const struct way *w, const char *what)
{
	fprintf(stderr, "%s at \"%.40s\"\n", what, w->at);
	exit(2);
}

/* ---- Reading ---- */

static void blank(struct way *w)
{
	w->at += strspn(w->at, " \t");
}

static bool take(struct way *w, const char *word)
{
	size_t n = strlen(word);

	blank(w);
	if (strncmp(w->at, word, n) || (isalnum((unsigned char)w->at[n]) && isalpha(*word)))
		return false;
	w->at += n;
	blank(w);
	return true;
}

static int64_t integer(struct way *w)
{
	char *end;
	int64_t v = strtoll(w->at, &end, 10);

	if (end == w->at)
		bad(w, "a number is wanted");
	w->at = end;
	blank(w);
	return v;
}

static void word_of(struct way *w, char out[16])
{
	size_t n = strspn(w->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	if (!n || n > 15)
		bad(w, "a name is wanted");
	memcpy(out, w->at, n);
	out[n] = 0;
	w->at += n;
	blank(w);
}

static unsigned dtype_of(struct way *w)
{
	char name[16];

	word_of(w, name);
	for (unsigned d = 0; d < DTYPE_END; d++)
		if (!strcmp(dtype_row(d)->name, name))
			return d;
	bad(w, "a type is wanted");
	return 0;
}

/* "[3,4]" or "[3:-8,4:24]": extents, and strides where they are given. */
static unsigned list(struct way *w, int64_t *dim, int64_t *stride)
{
	unsigned n = 0;

	if (!take(w, "["))
		bad(w, "[ is wanted");
	while (!take(w, "]")) {
		dim[n] = integer(w);
		if (take(w, ":"))
			stride[n] = integer(w);
		n++;
		take(w, ",");
	}
	return n;
}

static unsigned id_of(const struct way *w, const char *name)
{
	for (unsigned k = 1; k < NAMES; k++)
		if (!strcmp(w->name[k], name))
			return k;
	bad(w, "no such array");
	return 0;
}

static unsigned new_id(struct way *w, const char *name)
{
	unsigned k = 1;

	while (*w->name[k])
		k++;
	strcpy(w->name[k], name);
	return k;
}

/* ---- Recording ---- */

static void word(struct way *w, uint64_t v)
{
	w->imm[w->nimm++] = v;
}

static void operand(struct way *w, int dtype)
{
	char name[16];
	double v;
	uint64_t bits;
	bool whole = true;
	unsigned weak = dtype < 0;

	blank(w);
	if (isalpha((unsigned char)*w->at)) {
		word_of(w, name);
		w->operand[w->nin++] = id_of(w, name);
		return;
	}
	for (const char *s = w->at; *s && !isspace((unsigned char)*s); s++)
		whole &= *s != '.';
	v = strtod(w->at, (char **)&w->at);
	blank(w);
	dtype = dtype < 0 ? (whole ? DT_INT64 : DT_FLOAT64) : dtype;
	bits = (uint64_t)(int64_t)v;
	if (dtype_row((unsigned)dtype)->cls == CLASS_FLOAT)
		memcpy(&bits, &v, sizeof v);
	w->operand[w->nin++] = 1u << 31 | weak << 8 | (unsigned)dtype;
	word(w, bits);
}

static void commit(struct way *w, unsigned op, unsigned dtype, unsigned id)
{
	unsigned arity = op_row(op)->arity == OP_LIST ? OP_LIST : w->nin;
	uint32_t head = op | dtype << 16 | arity << 24 | (w->nimm > 15 ? 15 : w->nimm) << 28;
	struct record_columns c = {1, 1, w->nin, w->nimm, &head, &id, w->operand, w->imm};
	struct err err;

	if (record_ops(&w->trace, &c, &err))
		bad(w, err.text);
	w->nin = w->nimm = 0;
}

static void shape_words(struct way *w)
{
	int64_t dim[LIMIT_NDIM], stride[LIMIT_NDIM];
	unsigned n = list(w, dim, stride);

	word(w, n);
	for (unsigned k = 0; k < n; k++)
		word(w, (uint64_t)dim[k]);
}

static void view_words(struct way *w)
{
	int64_t dim[LIMIT_NDIM], stride[LIMIT_NDIM], offset = integer(w);
	unsigned n = list(w, dim, stride);

	word(w, n);
	word(w, (uint64_t)offset);
	for (unsigned k = 0; k < n; k++)
		word(w, (uint64_t)dim[k]);
	for (unsigned k = 0; k < n; k++)
		word(w, (uint64_t)stride[k]);
}

static void input(struct way *w)
{
	char name[16];
	unsigned dtype;
	struct extent e;
	struct err err;

	word_of(w, name);
	dtype = dtype_of(w);
	if (arena_lease(w->arena, &e, 1u << 20, &err))
		bad(w, err.text);
	word(w, e.offset);
	shape_words(w);
	commit(w, OP_IMPORT, dtype, new_id(w, name));
}

/* The number in front of a list of operands, which goes before them. */
static unsigned list_length(struct way *w)
{
	unsigned n = (unsigned)integer(w);

	w->operand[w->nin++] = n;
	return n;
}

/* Does a word with axes, an axis or a count follow its operands? */
static bool has_word(const struct op_row *row, unsigned op)
{
	return row->kind == KIND_RED || row->kind == KIND_ARGRED || row->kind == KIND_SCAN ||
	       row->kind == KIND_SORT || row->kind == KIND_JOIN || op == OP_COMPACT ||
	       op == OP_PLACES;
}

/* What was said of it before the operands. */
static uint64_t said(struct way *w)
{
	return take(w, "axes") || take(w, "count") ? (uint64_t)integer(w) : 0;
}

static void result(struct way *w, const char *name)
{
	char op_name[16];
	unsigned op = 0, dtype = NO_TYPE;
	const struct op_row *row;
	uint64_t axes = 0;
	unsigned arity;

	word_of(w, op_name);
	for (unsigned k = 0; k < OP_END; k++)
		if (op_row(k) && !strcmp(op_row(k)->id, op_name))
			op = k;
	row = op_row(op);
	if (!row)
		bad(w, "an operation is wanted");
	arity = row->arity;
	if (take(w, "as"))
		dtype = dtype_of(w);
	axes = said(w);
	if (row->arity == OP_LIST)
		arity = list_length(w);
	for (unsigned k = 0; k < arity; k++)
		operand(w, row->kind == KIND_CREATE ? (int)dtype : -1);
	if (op == OP_VIEW) {
		dtype = trace_array(&w->trace, w->operand[0])->view.dtype;
		view_words(w);
	} else if (op == OP_ARANGE) {
		word(w, (uint64_t)integer(w));
	} else if (row->kind == KIND_CREATE || row->kind == KIND_DRAW) {
		shape_words(w);
	} else if (has_word(row, op)) {
		word(w, axes);
	} else if (op == OP_INDEX) {
		dtype = 0; /* the axis */
		word(w, 0);
	}
	commit(w, op, dtype, new_id(w, name));
}

/* ---- Showing ---- */

static void show_kernels(struct way *w, const struct plan *plan)
{
	struct nest spec;
	struct err err;
	char *source;

	for (uint32_t k = 0; k < plan->nstep; k++) {
		if (plan->step[k].kind != STEP_KERNEL)
			continue;
		compilepart_spec(&spec, plan->step[k].nest);
		if (emit_c(&source, &spec, &err))
			bad(w, err.text);
		fprintf(w->out, "== source of step %u\n%s", k, source);
		free(source);
		if (!w->cuda)
			continue;
		if (emit_cuda_source(&source, &spec, &err))
			bad(w, err.text);
		/* Without the prologue, which is the same for all. */
		fprintf(w->out, "== CUDA source of step %u%s", k,
			strchr(strstr(source, EMIT_KERNEL_MARK), '\n'));
		free(source);
	}
}

static void show(struct way *w, const struct part *part)
{
	struct plan *plan = NULL;
	struct err err;
	size_t n = part_print(NULL, 0, part);
	char *text = xmalloc(n + 1);

	part_print(text, n + 1, part);
	fprintf(w->out, "== partition\n%s", text);
	free(text);
	if (compilepart_run(&plan, part, NULL, NULL, NULL, &err)) {
		fprintf(w->out, "error %s: %s\n", status_name(err.code), err.text);
		return;
	}
	n = plan_print(NULL, 0, plan);
	text = xmalloc(n + 1);
	plan_print(text, n + 1, plan);
	fprintf(w->out, "== plan\n%s", text);
	free(text);
	show_kernels(w, plan);
	plan_free(plan);
}

static void demand(struct way *w)
{
	struct version *want[NAMES];
	struct partition *p;
	char name[16];
	unsigned n = 0;

	while (isalpha((unsigned char)*w->at)) {
		word_of(w, name);
		want[n++] = trace_current(trace_array(&w->trace, id_of(w, name)));
	}
	demand_partition(&p, &w->trace, want, n, false);
	if (!p)
		bad(w, "nothing is pending");
	show(w, &p->part);
	for (uint32_t k = 0; k < p->part.nvalue; k++)
		if (p->value[k]->state == VERSION_RUNNING)
			p->value[k]->state = VERSION_PENDING;
	partition_free(&w->trace, p);
}

static void depend(struct way *w)
{
	static const char *const kind[] = {"independent", "same point", "different points",
					   "unknown"};
	int64_t stride[2][LIMIT_NDIM], extent[LIMIT_NDIM], none[LIMIT_NDIM];
	struct depend_access a[2];
	const char *begin = w->at;
	struct depend d;
	unsigned n, same;

	for (int k = 0; k < 2; k++) {
		a[k].offset = integer(w);
		n = list(w, stride[k], none);
		a[k].stride = stride[k];
		a[k].bytes = (uint32_t)integer(w);
	}
	if (!take(w, "over") || list(w, extent, none) != n || !take(w, "same"))
		bad(w, "the loops are wanted");
	same = (unsigned)integer(w);
	d = depend_test(&a[0], &a[1], extent, n, same);
	fprintf(w->out, "%.*s: %s", (int)(w->at - begin), begin, kind[d.kind]);
	for (unsigned k = 0; k < n && d.constant; k++)
		fprintf(w->out, "%s%lld", k ? "," : ", distance ", (long long)d.distance[k]);
	fprintf(w->out, "\n");
}

static void line(struct way *w)
{
	char name[16];

	if (take(w, "in")) {
		input(w);
	} else if (take(w, "ASSIGN")) {
		operand(w, -1);
		operand(w, -1);
		commit(w, OP_ASSIGN, NO_TYPE, 0);
	} else if (take(w, "drop")) {
		operand(w, -1);
		*w->name[w->operand[0]] = 0;
		commit(w, OP_DROP, NO_TYPE, 0);
	} else if (take(w, "demand")) {
		demand(w);
	} else if (take(w, "cuda")) {
		w->cuda = true;
	} else if (take(w, "depend")) {
		depend(w);
	} else if (isalpha((unsigned char)*w->at)) {
		word_of(w, name);
		if (!take(w, "="))
			bad(w, "= is wanted");
		result(w, name);
	}
	blank(w);
	if (*w->at == '#')
		w->at += strcspn(w->at, "\n");
	if (*w->at && *w->at != '\n')
		bad(w, "unexpected text");
	w->at += *w->at == '\n';
}

static char *run(const char *program)
{
	struct way w = {.at = program};
	char *text = NULL;
	size_t n = 0;
	struct err err;

	w.out = open_memstream(&text, &n);
	uv_loop_init(&w.loop);
	if (arena_create(&w.arena, &w.loop, 64u << 20, &err))
		bad(&w, err.text);
	trace_init(&w.trace, w.arena, 0);
	while (*w.at)
		line(&w);
	trace_finish(&w.trace);
	arena_destroy(w.arena);
	uv_run(&w.loop, UV_RUN_DEFAULT);
	uv_loop_close(&w.loop);
	fclose(w.out);
	return text;
}

/* ---- Files ---- */

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = xcalloc(1, 1u << 20);

	if (!f) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(2);
	}
	text[fread(text, 1, (1u << 20) - 1, f)] = 0;
	fclose(f);
	return text;
}

static int check(const char *path, bool update)
{
	char *text = slurp(path), *mark = strstr(text, MARK), *made;
	int bad_file = 0;

	if (mark)
		*mark = 0;
	made = run(text);
	if (update) {
		FILE *f = fopen(path, "w");

		bad_file = !f || fprintf(f, "%s%s%s", text, MARK, made) < 0 || fclose(f);
	} else if (!mark || strcmp(mark + strlen(MARK), made)) {
		fprintf(stderr, "%s differs; now made:\n%s", path, made);
		bad_file = 1;
	}
	free(made);
	free(text);
	return bad_file;
}

int main(int argc, char **argv)
{
	bool update = argc > 1 && !strcmp(argv[1], "--update");
	int bad_files = argc < 2 + update;

	for (int k = 1 + update; k < argc; k++)
		bad_files |= check(argv[k], update);
	return bad_files;
}
