/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/create.c - new arrays: from host data, and lazily made ones. */
#include <string.h>

#include "array.h"
#include "copy.h"
#include "careful.h"
#include "imm.h"
#include "lease.h"
#include "lock.h"
#include "near.h"
#include "profile.h"

braze_scalar braze_double(double v)
{
	braze_scalar r = {.dtype = BRAZE_FLOAT64, .weak = 1};

	memcpy(&r.bits[0], &v, sizeof(v));
	return r;
}

braze_scalar braze_int(int64_t v)
{
	return (braze_scalar){.dtype = BRAZE_INT64, .weak = 1, .bits = {(uint64_t)v, 0}};
}

braze_scalar braze_complex(double re, double im)
{
	braze_scalar r = {.dtype = BRAZE_COMPLEX128, .weak = 1};

	memcpy(&r.bits[0], &re, sizeof(re));
	memcpy(&r.bits[1], &im, sizeof(im));
	return r;
}

braze_scalar braze_boolean(int v)
{
	return (braze_scalar){.dtype = BRAZE_BOOL, .weak = 1, .bits = {v != 0, 0}};
}

braze_arg braze_arg_array(braze_array *a)
{
	return (braze_arg){.array = a};
}

braze_arg braze_arg_double(double v)
{
	return (braze_arg){.scalar = braze_double(v)};
}

static enum status check_dtype(int dtype, struct err *err)
{
	if (dtype < 0 || !dtype_row((unsigned)dtype))
		return err_set(err, E_DTYPE, "%d is not the number of an element type", dtype);
	return OK;
}

static enum status check_new(struct shape *shape, struct braze_session *s, int dtype, int ndim,
			     const int64_t *dims, struct err *err)
{
	enum status st = array_usable(s, err);

	if (!st)
		st = check_dtype(dtype, err);
	if (!st)
		st = array_type(s, (unsigned)dtype, err);
	return st ? st : array_shape(shape, ndim, dims, err);
}

/* ---- Host data ---- */

/* An array in leased space, imported; the caller may fill it before it unlocks. */
static enum status import(struct braze_array **out, struct braze_session *s, int dtype, int ndim,
			  const int64_t *dims, struct err *err)
{
	struct braze_array *a = NULL;
	struct shape shape;
	int64_t count;
	uint64_t offset;

	enum status st = check_new(&shape, s, dtype, ndim, dims, err);
	if (!st)
		st = shape_count(&count, &shape, dtype_row((unsigned)dtype)->bytes, err);
	if (!st)
		st = lease_take(&offset, s, (uint64_t)count * dtype_row((unsigned)dtype)->bytes,
				err);
	if (!st)
		st = record_room(s, 0, 2 + shape.ndim, err);
	if (!st)
		st = array_create(&a, s, (enum dtype)dtype, &shape, err);
	if (st)
		return st;
	record_op(s, OP_IMPORT, (unsigned)dtype, a->id, 0, 2u + shape.ndim);
	record_imm(s, offset);
	record_shape(s, &shape);
	atomic_store_explicit(&a->buf->offset, offset, memory_order_relaxed);
	atomic_store_explicit(&a->buf->stored, 1, memory_order_release);
	a->buf->flags = BUF_FRESH;
	a->buf->why = WHY_HOST;
	*out = a;
	return OK;
}

/* Small data near, unless it is for somebody who writes to shared memory.  *bytes: of all of it. */
static enum status import_near(struct braze_array **out, uint64_t *bytes, struct braze_session *s,
			       int dtype, int ndim, const int64_t *dims, struct err *err)
{
	struct shape shape;
	int64_t count;
	enum status st = check_new(&shape, s, dtype, ndim, dims, err);

	if (!st)
		st = shape_count(&count, &shape, dtype_row((unsigned)dtype)->bytes, err);
	*bytes = st ? 0 : (uint64_t)count * dtype_row((unsigned)dtype)->bytes;
	bool small = !st && s->near && *bytes <= NEAR_BYTES;
	*out = small ? near_array(s, (enum dtype)dtype, &shape, count) : NULL;
	return st;
}

int braze_from_data(braze_array **out, braze_session *s, int dtype, int ndim, const int64_t *shape,
		    const int64_t *strides, const void *data, braze_error *err)
{
	struct braze_array *a = NULL;
	uint64_t bytes;

	lock_take(s);
	int st = (int)import_near(&a, &bytes, s, dtype, ndim, shape, err_of(err));
	if (unlikely(s->profile) && !st)
		profile_copy(s, a ? 0 : bytes);
	if (!st && !a)
		st = (int)import(&a, s, dtype, ndim, shape, err_of(err));
	if (!st) {
		copy_gather(array_address(a), &a->view.shape, strides, data,
			    dtype_row(a->view.dtype)->bytes);
		*out = a;
	}
	profile_copied(s, st ? 0 : a->buf->bytes);
	lock_give(s);
	return st;
}

int braze_alloc(braze_array **out, void **data, braze_session *s, int dtype, int ndim,
		const int64_t *shape, braze_error *err)
{
	struct braze_array *a = NULL;

	lock_take(s);
	int st = (int)import(&a, s, dtype, ndim, shape, err_of(err));
	if (!st) {
		a->buf->flags = BUF_HOST;
		*data = s->arena + a->buf->offset;
		*out = a;
	}
	lock_give(s);
	return st;
}

/* ---- Lazy ---- */

static enum status create(struct braze_array **out, struct braze_session *s, enum op op, int dtype,
			  const struct shape *shape, const braze_scalar *value, int n,
			  struct err *err)
{
	unsigned nimm = op == OP_ARANGE ? 1 : 1u + shape->ndim;
	enum status st = OK;

	for (int k = 0; k < n; k++) {
		if (!dtype_row((unsigned)value[k].dtype))
			return err_set(err, E_DTYPE, "value %d has no known type", k);
		nimm += record_words((unsigned)value[k].dtype);
	}
	if (!st && s->near && near_create(out, s, op, dtype, shape, value))
		return OK;
	if (!st)
		st = record_room(s, (unsigned)n, nimm, err);
	if (!st)
		st = array_create(out, s, (enum dtype)dtype, shape, err);
	if (st)
		return st;
	record_op(s, op, (unsigned)dtype, (*out)->id, (unsigned)n, nimm);
	for (int k = 0; k < n; k++)
		record_scalar(s, &value[k]);
	if (s->near)
		(*out)->buf->flags = BUF_MADE;
	if (op == OP_ARANGE)
		record_imm(s, (uint64_t)shape->dim[0]);
	else
		record_shape(s, shape);
	return OK;
}

enum status record_number(struct braze_array **out, struct braze_session *s, int dtype,
			  const braze_scalar *value, struct err *err)
{
	const struct shape none = {0};

	return create(out, s, OP_FULL, dtype, &none, value, 1, err);
}

static int lazy(struct braze_array **out, struct braze_session *s, enum op op, int dtype, int ndim,
		const int64_t *dims, const braze_scalar *value, int n, struct err *err)
{
	struct shape shape;

	lock_take(s);
	int st = (int)check_new(&shape, s, dtype, ndim, dims, err);
	if (!st)
		st = (int)create(out, s, op, dtype, &shape, value, n, err);
	if (careful_asks(s, st, *out, 0)) {
		const struct recorded r = {.op = op};
		st = careful_recorded(out, &r, err);
	}
	lock_give(s);
	return st;
}

int braze_empty(braze_array **out, braze_session *s, int dtype, int ndim, const int64_t *shape,
		braze_error *err)
{
	return lazy(out, s, OP_EMPTY, dtype, ndim, shape, NULL, 0, err_of(err));
}

int braze_full(braze_array **out, braze_session *s, int dtype, int ndim, const int64_t *shape,
	       braze_scalar value, braze_error *err)
{
	return lazy(out, s, OP_FULL, dtype, ndim, shape, &value, 1, err_of(err));
}

static bool is_minus_zero(int dtype, const braze_scalar *v)
{
	const struct dtype_row *d = dtype_row((unsigned)dtype);
	uint64_t bits[2];

	if (!d || d->cls != CLASS_FLOAT || !dtype_row((unsigned)v->dtype))
		return false;
	imm_cast(bits, DT_FLOAT64, v->bits, (enum dtype)v->dtype);
	return bits[0] == (uint64_t)1 << 63;
}

int braze_arange(braze_array **out, braze_session *s, int dtype, int64_t n, braze_scalar start,
		 braze_scalar step, braze_error *err)
{
	braze_scalar value[2] = {start, step};
	braze_array *first = NULL;
	int st = lazy(out, s, OP_ARANGE, dtype, 1, &n, value, 2, err_of(err));

	/* Its own steps are 0, and -0 + 0 is 0. */
	if (st || n < 2 || !is_minus_zero(dtype, &start))
		return st;
	st = braze_slice(&first, *out, (int64_t[]){0}, (int64_t[]){1}, (int64_t[]){1}, err);
	if (!st)
		st = braze_assign(first, (braze_arg){.scalar = start}, err);
	braze_release(first);
	if (st) {
		braze_release(*out);
		*out = NULL;
	}
	return st;
}
