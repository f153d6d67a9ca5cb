/* SPDX-License-Identifier: Apache-2.0 */
/* golden/part_text.h - read a partition from text, for tests.
 *
 * The format is part_print's, with short forms for people: a view without
 * strides is contiguous ("v0:float64[3,4]"), "immf 0 2.5" and "immi 0 3" give
 * immediates as numbers, "#" begins a comment.  Text that cannot be read ends
 * the program: a test that says nonsense must not pass. */
#ifndef BRAZE_PART_TEXT_H
#define BRAZE_PART_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "form/part.h"

struct part_text {
	struct part part;
	const char *at;
};

static inline void part_text_fail(const struct part_text *t, const char *what)
{
	fprintf(stderr, "part text: %s at \"%.40s\"\n", what, t->at);
	abort();
}

static inline void part_text_blank(struct part_text *t)
{
	while (*t->at == ' ' || *t->at == '\t')
		t->at++;
}

static inline bool part_text_take(struct part_text *t, const char *word)
{
	size_t n = strlen(word);

	part_text_blank(t);
	if (strncmp(t->at, word, n))
		return false;
	t->at += n;
	return true;
}

static inline int64_t part_text_int(struct part_text *t)
{
	char *end = NULL;
	long long v = strtoll(t->at, &end, 10);

	if (end == t->at)
		part_text_fail(t, "number expected");
	t->at = end;
	return v;
}

static inline unsigned part_text_dtype(struct part_text *t)
{
	part_text_blank(t);
	for (unsigned d = 0; d < DTYPE_END; d++) {
		size_t n = strlen(dtype_row(d)->name);

		if (strncmp(t->at, dtype_row(d)->name, n) ||
		    strchr("0123456789", t->at[n] ? t->at[n] : ' '))
			continue;
		t->at += n;
		return d;
	}
	part_text_fail(t, "type expected");
	return 0;
}

static inline void part_text_view(struct part_text *t, struct part_ref *r)
{
	int64_t dim[LIMIT_NDIM], stride[LIMIT_NDIM], offset = 0;
	bool strided = false;
	unsigned n = 0;

	if (*t->at == '+') {
		t->at++;
		offset = part_text_int(t);
	}
	if (!part_text_take(t, "["))
		part_text_fail(t, "[ expected");
	while (!part_text_take(t, "]")) {
		dim[n] = part_text_int(t);
		if (*t->at == ':') {
			t->at++;
			stride[n] = part_text_int(t);
			strided = true;
		}
		n++;
		part_text_take(t, ",");
	}
	for (unsigned k = n; k-- > 0 && !strided;)
		stride[k] = k + 1 == n ? dtype_row(r->dtype)->bytes : stride[k + 1] * dim[k + 1];
	r->ndim = (uint8_t)n;
	r->dims = t->part.ndim;
	t->part.dim = xrealloc(t->part.dim, t->part.ndim + 1 + 2 * n, sizeof *t->part.dim);
	t->part.dim[t->part.ndim++] = offset;
	for (unsigned k = 0; k < n; k++)
		t->part.dim[t->part.ndim++] = dim[k];
	for (unsigned k = 0; k < n; k++)
		t->part.dim[t->part.ndim++] = stride[k];
}

static inline void part_text_ref(struct part_text *t, struct part_ref *r)
{
	bool imm;

	memset(r, 0, sizeof *r);
	part_text_blank(t);
	imm = *t->at == 'i';
	if (!imm && *t->at != 'v')
		part_text_fail(t, "operand expected");
	t->at++;
	r->value = (uint32_t)part_text_int(t) | (imm ? PART_IMM : 0);
	if (*t->at++ != ':')
		part_text_fail(t, ": expected");
	r->dtype = (uint8_t)part_text_dtype(t);
	if (!imm) {
		part_text_view(t, r);
	} else if (*t->at == '~') {
		t->at++;
		r->weak = 1;
	}
}

/* Of more than three operands the list has them. */
static inline void part_text_operands(struct part_text *t, struct part_op *o,
				      const struct part_ref *in)
{
	size_t bytes = o->nin * sizeof *in;

	if (o->nin <= OP_OPERANDS) {
		memcpy(o->in, in, bytes);
		return;
	}
	t->part.list = xrealloc(t->part.list, t->part.nlist + o->nin, sizeof *in);
	memcpy(t->part.list + t->part.nlist, in, bytes);
	o->in[0].value = t->part.nlist;
	t->part.nlist += o->nin;
}

static inline void part_text_op(struct part_text *t)
{
	struct part_op o = {.dtype = DTYPE_END};
	struct part_ref in[LIMIT_OPERANDS];

	part_text_blank(t);
	for (unsigned k = 0; k < OP_END; k++) {
		const struct op_row *row = op_row(k);
		size_t n = row ? strlen(row->id) : 0;

		if (row && !strncmp(t->at, row->id, n) && t->at[n] == ' ') {
			o.op = (uint16_t)k;
			t->at += n;
			break;
		}
	}
	if (!o.op)
		part_text_fail(t, "operation expected");
	if (part_text_take(t, "as "))
		o.dtype = (uint8_t)part_text_dtype(t);
	if (part_text_take(t, "axis "))
		o.dtype = (uint8_t)part_text_int(t);
	if (part_text_take(t, "hint "))
		o.dtype = (uint8_t)part_text_int(t);
	if (part_text_take(t, "axes "))
		o.axes = (uint32_t)part_text_int(t);
	while (!part_text_take(t, "->"))
		part_text_ref(t, &in[o.nin++]);
	part_text_operands(t, &o, in);
	part_text_ref(t, &o.out);
	t->part.op = xrealloc(t->part.op, t->part.nop + 1, sizeof o);
	t->part.op[t->part.nop++] = o;
}

static inline void part_text_value(struct part_text *t)
{
	struct part_value v = {.prev = PART_NONE};

	if (part_text_int(t) != t->part.nvalue)
		part_text_fail(t, "values are numbered in order");
	if (part_text_take(t, "input"))
		v.role = PART_INPUT;
	else if (part_text_take(t, "output"))
		v.role = PART_OUTPUT;
	else if (part_text_take(t, "temp"))
		v.role = PART_TEMP;
	else
		part_text_fail(t, "role expected");
	v.bytes = (uint64_t)part_text_int(t);
	if (part_text_take(t, "prev "))
		v.prev = (uint32_t)part_text_int(t);
	v.take = part_text_take(t, "take");
	v.undefined = part_text_take(t, "undefined");
	t->part.value = xrealloc(t->part.value, t->part.nvalue + 1, sizeof v);
	t->part.value[t->part.nvalue++] = v;
}

static inline void part_text_imm(struct part_text *t, char kind)
{
	uint64_t w[2] = {0, 0};
	double f;
	int64_t i;
	char *end;

	if (part_text_int(t) != t->part.nimm)
		part_text_fail(t, "immediates are numbered in order");
	if (kind == 'f') {
		f = strtod(t->at, &end);
		memcpy(w, &f, 8);
	} else if (kind == 'i') {
		i = strtoll(t->at, &end, 10);
		memcpy(w, &i, 8);
	} else {
		w[0] = strtoull(t->at, &end, 16);
		w[1] = strtoull(end, &end, 16);
	}
	t->at = end;
	t->part.imm = xrealloc(t->part.imm, 2 * (t->part.nimm + 1), sizeof w[0]);
	memcpy(t->part.imm + 2 * t->part.nimm++, w, sizeof w);
}

static inline void part_text_line(struct part_text *t)
{
	part_text_blank(t);
	if (*t->at == '#')
		t->at += strcspn(t->at, "\n");
	else if (part_text_take(t, "value "))
		part_text_value(t);
	else if (part_text_take(t, "immf "))
		part_text_imm(t, 'f');
	else if (part_text_take(t, "immi "))
		part_text_imm(t, 'i');
	else if (part_text_take(t, "imm "))
		part_text_imm(t, 'x');
	else if (part_text_take(t, "op "))
		part_text_op(t);
	else if (part_text_take(t, "anywhere"))
		t->part.anywhere = 1;
	else if (part_text_take(t, "unfused"))
		t->part.unfused = 1;
	part_text_blank(t);
	if (*t->at == '\n')
		t->at++;
	else if (*t->at)
		part_text_fail(t, "unexpected text");
}

static inline struct part part_text_read(const char *text)
{
	struct part_text t = {.at = text};

	while (*t.at)
		part_text_line(&t);
	return t.part;
}

static inline void part_text_free(struct part *p)
{
	free(p->value);
	free(p->op);
	free(p->imm);
	free(p->dim);
	free(p->list);
}

#endif
