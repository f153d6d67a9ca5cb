/* SPDX-License-Identifier: Apache-2.0 */
/* braze.h - the client library of braze.
 *
 * A session is a connection to brazed.  Operations on arrays are recorded, not
 * run; the daemon fuses and runs what a read demands.  Results lie in memory that
 * the daemon and this process share.
 *
 * Conventions, for every function unless it says otherwise:
 *   - returns 0, or an error code (BRAZE_E_*) with *err filled; err may be NULL.
 *   - result parameters come first and are set only on success.
 *   - an array in a result parameter is owned by the caller: braze_release it.
 *   - shapes count elements, strides and offsets count bytes.
 *   - any thread may call; one session's calls are ordered by a lock.
 *   - the library never exits or aborts the process and starts no thread.
 *   - after fork() the child's copies of sessions and arrays are dead: every use
 *     returns BRAZE_E_FORKED; connect again. */
#ifndef BRAZE_H
#define BRAZE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BRAZE_VERSION  "0.1.0"
#define BRAZE_MAX_NDIM 8

#if defined(__GNUC__)
#define BRAZE_API __attribute__((visibility("default")))
#else
#define BRAZE_API
#endif

typedef struct braze_session braze_session;
typedef struct braze_array braze_array;
typedef struct braze_future braze_future;

/* Element types; numbers are part of the protocol. */
enum braze_dtype {
	BRAZE_BOOL = 0,
	BRAZE_INT8,
	BRAZE_INT16,
	BRAZE_INT32,
	BRAZE_INT64,
	BRAZE_UINT8,
	BRAZE_UINT16,
	BRAZE_UINT32,
	BRAZE_UINT64,
	BRAZE_FLOAT16,
	BRAZE_FLOAT32,
	BRAZE_FLOAT64,
	BRAZE_COMPLEX64,
	BRAZE_COMPLEX128,
	BRAZE_BFLOAT16 /* ml_dtypes': computed in float32 and rounded (docs/ops.md) */
};

/* Error codes; braze_error_name and braze_error_python name them. */
enum braze_code {
	BRAZE_OK = 0,
	BRAZE_E_INVALID = 1,	   /* an argument has an unusable value */
	BRAZE_E_SHAPE = 2,	   /* shapes do not fit together */
	BRAZE_E_DTYPE = 3,	   /* the operation does not take these types */
	BRAZE_E_CAST = 4,	   /* the result cannot be cast to the output's type */
	BRAZE_E_AXIS = 5,	   /* an axis is out of bounds or repeated */
	BRAZE_E_INDEX = 6,	   /* an index is out of range */
	BRAZE_E_OVERFLOW = 7,	   /* a Python number does not fit the type */
	BRAZE_E_READONLY = 8,	   /* the array may not be written */
	BRAZE_E_UNKNOWN_ARRAY = 9, /* no such array on this connection */
	BRAZE_E_UNSUPPORTED = 10,  /* braze does not do this natively */
	BRAZE_E_NOMEM = 11,	   /* out of memory or over the quota */
	BRAZE_E_LIMIT = 12,	   /* a limit is exceeded, of everybody or of this user */
	BRAZE_E_PROTOCOL = 13,	   /* malformed message; the connection is closed */
	BRAZE_E_VERSION = 14,	   /* client and daemon speak different protocol versions */
	BRAZE_E_DAEMON_GONE = 15,  /* the daemon ended or closed the connection */
	BRAZE_E_CONNECT = 16,	   /* no daemon can be reached or started */
	BRAZE_E_LOST = 17,	   /* the worker died while writing this array */
	BRAZE_E_QUARANTINED = 18,  /* the kernel killed the worker twice and is not run again */
	BRAZE_E_CANCELLED = 19,	   /* the wait was cancelled */
	BRAZE_E_TIMEOUT = 20,	   /* the wait ran out of time */
	BRAZE_E_DEVICE = 21,	   /* the device cannot be used */
	BRAZE_E_FORKED = 22,	   /* the array belongs to the parent process */
	BRAZE_E_SYSTEM = 23,	   /* an operating system call failed */
	BRAZE_E_INTERNAL = 24,	   /* a check inside braze failed */
	BRAZE_E_COMPILE = 25,	   /* a kernel did not compile */
	BRAZE_E_ZERODIV = 26,	   /* division by zero */
	BRAZE_E_UNPUBLISHED = 28,  /* nothing of this name is published to this user */
	BRAZE_E_FLOATING = 27, /* an operation met a floating-point error that it was checked for */
	BRAZE_E_INTERRUPTED = 100 /* a wait's check callback asked to stop */
};

typedef struct braze_error {
	int code;
	char text[256]; /* one line: what, where, what to do */
} braze_error;

BRAZE_API const char *braze_error_name(int code);   /* "E_SHAPE" */
BRAZE_API const char *braze_error_python(int code); /* "ValueError" */
BRAZE_API const char *braze_version(void);

/* ---- Sessions ---- */

struct braze_options {
	size_t size;	    /* sizeof(struct braze_options): later fields default to 0 */
	const char *socket; /* NULL: $BRAZE_SOCKET, the system's daemon, the user's, or
			       start the user's */
	const char *name;   /* shown to operators; NULL: $BRAZE_NAME, else the program's */
	const char *device; /* "auto", "cpu", "cuda:0"; NULL: $BRAZE_DEVICE, else auto */
	unsigned flags;	    /* BRAZE_EAGER, BRAZE_UNFUSED, BRAZE_NO_START, BRAZE_RECONNECT */
	/* Shown to operators beside the name and the program's own. */
	const char *file;	 /* script or notebook that runs; NULL: none */
	const char *environment; /* NULL: $VIRTUAL_ENV or $CONDA_DEFAULT_ENV */
};
#define BRAZE_EAGER	1u /* run every op when it is recorded */
#define BRAZE_UNFUSED	2u /* one kernel per op */
#define BRAZE_NO_START	4u /* do not start a daemon */
#define BRAZE_RECONNECT 8u /* after a loss the next operation connects again by itself */

BRAZE_API int braze_connect(braze_session **out, const struct braze_options *opt, braze_error *err);
/* Ends the session.  Arrays of it that are still held must be released; until then
 * those that were stored can be read, and nothing can be computed with any. */
BRAZE_API void braze_close(braze_session *s);
/* Ends the connection, but not the session: braze_reconnect goes on with it. */
BRAZE_API void braze_disconnect(braze_session *s);
/* A new connection for a session whose own is over (BRAZE_E_DAEMON_GONE); nothing when
 * it is not.  Arrays that were stored go on: the first operation with one brings it to
 * the new connection, once.  Others fail with BRAZE_E_DAEMON_GONE and a text that names
 * them.  Addresses of stored values stay valid as ever. */
BRAZE_API int braze_reconnect(braze_session *s, braze_error *err);
/* What operators see the session called from now on; NULL or "": $BRAZE_NAME, else the
 * program's name. */
BRAZE_API int braze_session_name(braze_session *s, const char *name, braze_error *err);
/* 0 while the daemon answers; otherwise the error that every call will give. */
BRAZE_API int braze_session_error(braze_session *s, braze_error *err);
/* Switch BRAZE_EAGER / BRAZE_UNFUSED; returns the old flags. */
BRAZE_API unsigned braze_set_flags(braze_session *s, unsigned flags);
/* The device that operations recorded from now on ask for: "cpu", "cuda:0", ...;
 * "auto": the daemon chooses by cost; NULL: as asked when connecting.  A property of
 * the session, not of the thread. */
BRAZE_API int braze_set_device(braze_session *s, const char *name, braze_error *err);
/* How exact products of float32 and complex64 recorded from now on have to be where a GPU computes
 * them: "full", or "tf32": by tensor cores, from operands rounded to 10 bits of mantissa.  NULL: as
 * when the session began ($BRAZE_PRECISION, else full).  A property of the session, not of the
 * thread; of the processor's products it changes nothing. */
BRAZE_API int braze_set_precision(braze_session *s, const char *name, braze_error *err);
/* Names of the daemon's devices, i from 0; NULL: there are no more.  Lives as long as
 * the session. */
BRAZE_API const char *braze_device_name(braze_session *s, int i);
/* Send what is recorded without waiting for anything. */
BRAZE_API int braze_flush(braze_session *s, braze_error *err);

/* ---- Arrays ---- */

/* Copy data into a new array; strides NULL: C-contiguous. */
BRAZE_API int braze_from_data(braze_array **out, braze_session *s, int dtype, int ndim,
			      const int64_t *shape, const int64_t *strides, const void *data,
			      braze_error *err);
/* A new uninitialised array in shared memory; *data is writable until the array's
 * first use in an operation, and again after braze_fence. */
BRAZE_API int braze_alloc(braze_array **out, void **data, braze_session *s, int dtype, int ndim,
			  const int64_t *shape, braze_error *err);
/* Lazy: without defined content; every element the same; start + i * step. */
BRAZE_API int braze_empty(braze_array **out, braze_session *s, int dtype, int ndim,
			  const int64_t *shape, braze_error *err);

/* A number as an operand.  weak: gives way to the arrays' type as a Python number
 * does; otherwise it counts as a 0-d array of its dtype.  bits: the value in
 * dtype (bool and integers: as 64 bits; complex64: two floats in two words). */
typedef struct braze_scalar {
	int dtype;
	int weak;
	uint64_t bits[2];
} braze_scalar;
BRAZE_API braze_scalar braze_double(double v); /* weak float64 */
BRAZE_API braze_scalar braze_int(int64_t v);   /* weak int64 */
BRAZE_API braze_scalar braze_complex(double re, double im);
BRAZE_API braze_scalar braze_boolean(int v);

BRAZE_API int braze_full(braze_array **out, braze_session *s, int dtype, int ndim,
			 const int64_t *shape, braze_scalar value, braze_error *err);
BRAZE_API int braze_arange(braze_array **out, braze_session *s, int dtype, int64_t n,
			   braze_scalar start, braze_scalar step, braze_error *err);

BRAZE_API void braze_retain(braze_array *a);
BRAZE_API void braze_release(braze_array *a); /* NULL is fine */

BRAZE_API braze_session *braze_session_of(const braze_array *a);
BRAZE_API int braze_dtype_of(const braze_array *a);
BRAZE_API int braze_ndim(const braze_array *a);
BRAZE_API const int64_t *braze_shape(const braze_array *a);
BRAZE_API const int64_t *braze_strides(const braze_array *a);
BRAZE_API int64_t braze_offset(const braze_array *a); /* bytes from its buffer's start */
BRAZE_API int64_t braze_size(const braze_array *a);   /* elements */
BRAZE_API int braze_itemsize(const braze_array *a);
/* Do the two share a buffer? */
BRAZE_API int braze_same_buffer(const braze_array *a, const braze_array *b);

/* ---- Views: share the buffer; a write through one is seen through all ---- */

/* Any view whose elements lie inside a's buffer; offset counts from its start.  Of
 * another type than a's, the same bytes: offset and strides are then multiples of
 * the type's size (of a complex type's component). */
BRAZE_API int braze_view(braze_array **out, braze_array *a, int dtype, int ndim,
			 const int64_t *shape, const int64_t *strides, int64_t offset,
			 braze_error *err);
/* start:stop:step per axis, as Python's slice indices after normalisation:
 * count[i] elements from start[i], step[i] apart. */
BRAZE_API int braze_slice(braze_array **out, braze_array *a, const int64_t *start,
			  const int64_t *count, const int64_t *step, braze_error *err);
/* axes NULL: reversed. */
BRAZE_API int braze_transpose(braze_array **out, braze_array *a, const int *axes, braze_error *err);
/* A view where one exists, else a copy.  One extent may be -1. */
BRAZE_API int braze_reshape(braze_array **out, braze_array *a, int ndim, const int64_t *shape,
			    braze_error *err);
BRAZE_API int braze_broadcast_to(braze_array **out, braze_array *a, int ndim, const int64_t *shape,
				 braze_error *err);

/* ---- Operations: recorded, run when demanded ---- */

typedef struct braze_arg {
	braze_array *array; /* borrowed; NULL: the scalar */
	braze_scalar scalar;
} braze_arg;
BRAZE_API braze_arg braze_arg_array(braze_array *a);
BRAZE_API braze_arg braze_arg_double(double v);

/* Number of the operation with NumPy's name ("add"), -1 when there is none.
 * braze_op_name is its inverse; NULL beyond the table. */
BRAZE_API int braze_op_find(const char *name);
BRAZE_API const char *braze_op_name(int op);
BRAZE_API int braze_op_arity(int op);
/* 'e' elementwise, 'r' reduction, 'a' argument reduction, 's' scan, 'o' sort, 'x' other. */
BRAZE_API int braze_op_kind(int op);

/* Elementwise operation with broadcasting; at least one operand is an array. */
BRAZE_API int braze_apply(braze_array **out, braze_session *s, int op, int nargs,
			  const braze_arg *args, braze_error *err);
/* Reduction over the axes in the bit mask (all: (1 << ndim) - 1).  dtype: the
 * accumulator's for sum and prod, or -1. */
BRAZE_API int braze_reduce(braze_array **out, int op, braze_array *a, unsigned axes, int keepdims,
			   int dtype, braze_error *err);
/* Running results along one axis (< 0: from the last), shaped as a: "cumsum", "cumprod",
 * "minimum.accumulate", "maximum.accumulate".  dtype: the accumulator's for sums and products, or
 * -1.  Floating sums and products longer than 1024 elements are added up block by block, so their
 * last bits may differ from NumPy's; float16 has none (E_UNSUPPORTED).  And, of float32 and float64
 * only, "unwrap": steps of more than pi become less by whole turns of 2 pi, as NumPy's. */
BRAZE_API int braze_scan(braze_array **out, int op, braze_array *a, int axis, int dtype,
			 braze_error *err);
/* Arrays one after the other along an axis (< 0: from the last), or, stacked, along a new one.
 * dtype: the result's, to which any type is cast, or -1 for the common one. */
BRAZE_API int braze_concatenate(braze_array **out, int n, braze_array *const *arrays, int axis,
				int dtype, braze_error *err);
BRAZE_API int braze_stack(braze_array **out, int n, braze_array *const *arrays, int axis, int dtype,
			  braze_error *err);

/* Random numbers that are the same to the bit on every device and any number of threads: element
 * i of a draw is a function of the key, the number of the draw and i (Philox 4x32-10).  Any key is
 * a good one; start with draw 0.  Each successful call counts one draw on. */
typedef struct braze_random {
	uint64_t key, draw;
} braze_random;

/* FLOAT64 or FLOAT32: low + (high - low) * x, 0 <= x < 1 in steps of 2^-53 or 2^-24. */
BRAZE_API int braze_random_uniform(braze_array **out, braze_session *s, braze_random *r, int dtype,
				   int ndim, const int64_t *shape, double low, double high,
				   braze_error *err);
BRAZE_API int braze_random_normal(braze_array **out, braze_session *s, braze_random *r, int dtype,
				  int ndim, const int64_t *shape, double mean, double deviation,
				  braze_error *err);
/* scale: the mean. */
BRAZE_API int braze_random_exponential(braze_array **out, braze_session *s, braze_random *r,
				       int dtype, int ndim, const int64_t *shape, double scale,
				       braze_error *err);
/* INT64: low <= x < high.  No number is likelier than another by more than one part in 2^32. */
BRAZE_API int braze_random_integers(braze_array **out, braze_session *s, braze_random *r, int ndim,
				    const int64_t *shape, int64_t low, int64_t high,
				    braze_error *err);
/* What lies along one axis (< 0: from the last) in order: "sort" gives the elements, "argsort"
 * their places as int64.  Equal elements keep their order; zeros of either sign are equal, nans
 * come last. */
BRAZE_API int braze_sort(braze_array **out, int op, braze_array *a, int axis, braze_error *err);
/* Fourier transforms along one axis (< 0: from the last), without a factor: "fft.fft" and
 * "fft.ifft" of complex numbers, "fft.rfft" from real ones to the length / 2 + 1 numbers that tell
 * the rest, "fft.irfft" from those back.  The axis has `length` elements, or that many; a's type is
 * the operation's own: nothing is cast. */
BRAZE_API int braze_fourier(braze_array **out, int op, braze_array *a, int axis, int64_t length,
			    braze_error *err);
/* Factors of matrices, as LAPACK has them.  a's last two axes count the columns and the rows of
 * each matrix, which is the transpose of a matrix in C order; its type is the operation's own,
 * single or double precision.  Results are views of one array, each a matrix column by column or a
 * line of numbers; out[3] is LAPACK's info (int32) of each matrix, and what there is none of is
 * NULL.  `what`, and out[0] to out[2]:
 *
 * - "lu", of n x n: both factors, the row swapped with each (int64, from 1)
 * - "solve", of the columns behind the square, B: X with A X = B
 * - "cholesky", of the lower triangle: the factor, above it anything
 * - "qr.r", "qr", "qr.all": R on and above the diagonal; no, some or all columns of Q
 * - "eigvalsh", "eigh", of the lower triangle: eigenvectors (of "eigh"), eigenvalues
 * - "svdvals", "svd", "svd.all", of no more columns than rows: U, V^H, singular values */
BRAZE_API int braze_factors(braze_array *out[4], const char *what, braze_array *a,
			    braze_error *err);
/* Where needles of any shape belong among the elements of one axis, which are in that order: how
 * many elements come before each, or how many do not come after it, as int64.  Of elements in no
 * order the places are some that they have. */
enum braze_side { BRAZE_LEFT, BRAZE_RIGHT };
BRAZE_API int braze_search(braze_array **out, int side, braze_array *among, braze_array *needles,
			   braze_error *err);
/* Values at x, of any shape, on the straight lines between points of one axis in rising order, at
 * least two, as float64: NumPy's interp.  Beyond the first and last point: the values there. */
BRAZE_API int braze_interp(braze_array **out, braze_array *x, braze_array *points,
			   braze_array *values, braze_error *err);
BRAZE_API int braze_matmul(braze_array **out, braze_array *a, braze_array *b, braze_error *err);
/* Sparse matrices by rows (CSR).  Entries, row by row, are an array of one axis; the structure is
 * another, of BRAZE_INT32 or BRAZE_INT64 (`index`): rows + 1 numbers that tell where each row's
 * entries begin, and the last one's end, then the column of each entry.  Columns of a row may be in
 * any order and more than once.  Is that so of a structure in memory?  E_INVALID or E_INDEX says
 * what is wrong. */
BRAZE_API int braze_sparse_check(int index, int64_t rows, int64_t columns, int64_t count,
				 const void *structure, braze_error *err);
/* The structure of the transposed matrix, columns + 1 + count numbers, and which entry each of its
 * entries is, checked first: memory of the caller's. */
BRAZE_API int braze_sparse_transpose(void *transposed, int64_t *order, int index, int64_t rows,
				     int64_t columns, int64_t count, const void *structure,
				     braze_error *err);
/* The product with x, of one axis or two, its first as long as the matrix has columns; an entry
 * and a column at least.  Entries, x and the result are BRAZE_INT64, BRAZE_FLOAT32, _FLOAT64,
 * _COMPLEX64 or _COMPLEX128, all of one type; entries and structure lie side by side.  Each sum is
 * taken in the order of a row's entries, as SciPy's.  A structure that is wrong makes the result an
 * error (E_INVALID). */
BRAZE_API int braze_sparse_matmul(braze_array **out, braze_array *entries, braze_array *structure,
				  braze_array *x, braze_error *err);
BRAZE_API int braze_cast(braze_array **out, braze_array *a, int dtype, braze_error *err);
BRAZE_API int braze_copy(braze_array **out, braze_array *a, braze_error *err);
/* dst[...] = src, broadcast and cast (same kind). */
BRAZE_API int braze_assign(braze_array *dst, braze_arg src, braze_error *err);

/* Elements of a at places that arrays of integers name, as a copy; the places are part
 * of the computation and may be pending.  A place counts from 0; what else it may be is
 * the mode's.  Whoever asks for the value, or for what was computed from it, gets
 * E_INDEX when a place was wrong; one wrong place is named, the smallest positive one
 * before negative ones.  The result has at most BRAZE_MAX_NDIM - 1 axes (E_LIMIT). */
enum braze_places {
	BRAZE_RAISE, /* negative places count from the end, others are wrong */
	BRAZE_WRAP,  /* modulo the axis */
	BRAZE_CLIP,  /* limited to the axis; negative ones are 0 */
	BRAZE_KNOWN  /* they are known to be in 0 .. extent - 1; others are limited */
};
/* NumPy's take along one axis: places' axes in the place of it.  axis < 0: from the
 * last. */
BRAZE_API int braze_take(braze_array **out, braze_array *a, braze_array *places, int axis, int mode,
			 braze_error *err);
/* NumPy's take_along_axis: places has as many axes as a, and broadcasts with it but for
 * this one. */
BRAZE_API int braze_take_along(braze_array **out, braze_array *a, braze_array *places, int axis,
			       int mode, braze_error *err);
/* a[..., places, ...]: for n axes, in rising order, an array of places or an integer;
 * arrays broadcast, at least one is there.  Their axes stand where the n were when
 * those are neighbours, else first.  names: what messages call the axes; NULL: axes. */
BRAZE_API int braze_gather(braze_array **out, braze_array *a, int n, const int *axes,
			   const int *names, const braze_arg *index, int mode, braze_error *err);
/* A number, not 0, for the place in the program that takes from now on: the message of a
 * wrong place ends with " at site <number>".  A property of the session. */
BRAZE_API void braze_set_site(braze_session *s, uint32_t site);

/* ---- Floating-point errors ---- */

#define BRAZE_DIVIDE	1u /* a finite number divided by zero, the logarithm of zero, ... */
#define BRAZE_OVERFLOW	2u /* infinity from finite numbers */
#define BRAZE_UNDERFLOW 4u /* a result below the normal numbers that lost digits */
#define BRAZE_INVALID	8u /* a NaN from operands that were none */

typedef struct braze_report {
	unsigned error;	    /* one of the four */
	unsigned all;	    /* all that the operation met, of those it was checked for */
	const char *text;   /* "divide by zero", "overflow", "underflow", "invalid value" */
	const char *op;	    /* NumPy's name; "reduce" for sums and products, "cast" */
	uint32_t site, tag; /* the watcher's (braze_fast.h), else 0 */
} braze_report;
/* Told of errors inside the call that reads; it must not call the library. */
typedef void braze_report_fn(void *data, const braze_report *r);
/* From now on check operations for these classes, as NumPy would report them.  Whoever
 * reads a value that an operation with a `raise` error led to gets BRAZE_E_FLOATING, each
 * time; errors of `report` are told once, to the first reader, who gets the value.
 * Both 0: check nothing more.  What was recorded keeps its checks.  Costs some
 * operations for each that is checked, and nothing else. */
BRAZE_API void braze_watch_errors(braze_session *s, unsigned raise, unsigned report,
				  braze_report_fn *tell, void *data);

/* Result type and shape of braze_apply without recording it. */
BRAZE_API int braze_infer(int *dtype, int *ndim, int64_t *shape, int op, int nargs,
			  const braze_arg *args, braze_error *err);

/* ---- Reading and writing ---- */

/* Called every 50 ms while a wait lasts, without the session's lock; non-zero
 * ends the wait with BRAZE_E_INTERRUPTED after the demand was cancelled. */
typedef int braze_check_fn(void *data);

/* Ask for the arrays' values without waiting. */
BRAZE_API int braze_demand(braze_future **out, int n, braze_array *const *arrays, braze_error *err);
/* Ask that the values be computed, no more: one of 64 KiB and more that a device other than the
 * CPU makes stays there, and the first read brings it to the host. */
BRAZE_API int braze_compute(braze_future **out, int n, braze_array *const *arrays,
			    braze_error *err);
/* timeout in milliseconds, -1 for ever, 0 polls; BRAZE_E_TIMEOUT leaves the
 * future as it is. */
BRAZE_API int braze_wait(braze_future *f, int timeout_ms, braze_check_fn *check, void *data,
			 braze_error *err);
/* Has the device of the operations recorded now a library for Fourier transforms?  Else a processor
 * does them, at the speed of plain loops.  Waits for a device that starts. */
BRAZE_API int braze_has_fourier(int *has, braze_session *s, braze_check_fn *check, void *data,
				braze_error *err);
/* The same of factors of matrices. */
BRAZE_API int braze_has_factors(int *has, braze_session *s, braze_check_fn *check, void *data,
				braze_error *err);
BRAZE_API void braze_future_release(braze_future *f);

/* Elements of a, or rows of its further axes, where a mask (bool) of its first axes is true, in C
 * order: NumPy's a[mask], as a copy.  Waits until their number is known, as braze_wait does; the
 * elements themselves are part of the computation. */
BRAZE_API int braze_select(braze_array **out, braze_array *a, braze_array *mask,
			   braze_check_fn *check, void *data, braze_error *err);
/* A reduction (sum, prod, min, max, any or all; dtype as in braze_reduce) of the elements of a
 * where a mask of its shape is true: the bits of braze_reduce of what braze_select gives, but
 * nothing is stored, and nobody waits for their number.  *ranks: NULL, or what an earlier call with
 * the mask's very value left there; the caller releases it.  Its last element is the number of
 * elements. Extremes of none are the identity of their type: who does not know that there are some
 * asks braze_select. */
BRAZE_API int braze_select_reduce(braze_array **out, int op, braze_array *a, braze_array *mask,
				  braze_array **ranks, int dtype, braze_error *err);
/* The places where a mask (bool) is true, in C order, as int64: of one axis their numbers, of
 * several, at most 5 (E_LIMIT), a row of coordinates each.  Waits likewise. */
BRAZE_API int braze_nonzero(braze_array **out, braze_array *mask, braze_check_fn *check, void *data,
			    braze_error *err);

/* a[..., places, ...] = values, in the axes and with the places of braze_gather: values, cast,
 * broadcast to what that would give.  op: BRAZE_STORE, or an operation of two operands by which
 * each element becomes op(element, value): add, subtract, multiply, maximum, minimum, fmax, fmin,
 * bitwise_and, bitwise_or, bitwise_xor.  One place comes after the other, in C order: of equal
 * ones the last value stays, and sums are made in the order in which their terms stand.
 * Waits for all of them, as braze_wait does; this process writes.  A wrong place is E_INDEX,
 * and nothing is written. */
#define BRAZE_STORE (-1)
BRAZE_API int braze_scatter(braze_array *a, int op, int n, const int *axes, const int *names,
			    const braze_arg *index, braze_arg values, braze_check_fn *check,
			    void *data, braze_error *err);

/* How often each number from 0 on is in a vector of integers, not below 0 (E_INDEX), as int64; with
 * weights, numbers of any real type, their sums as float64, made in the order in which they stand.
 * The result has at least minlength elements.  Waits for both likewise. */
BRAZE_API int braze_bincount(braze_array **out, braze_array *x, braze_array *weights,
			     int64_t minlength, braze_check_fn *check, void *data,
			     braze_error *err);

/* Is the current value in shared memory, so that braze_data will not wait? */
BRAZE_API int braze_is_stored(const braze_array *a);
/* Address of element [0,...,0], waiting for the value first; valid and unchanged
 * until the array's buffer is written or the array released. */
BRAZE_API int braze_data(const void **data, braze_array *a, braze_check_fn *check, void *cdata,
			 braze_error *err);
/* Copy the elements in C order into dst (braze_size * braze_itemsize bytes). */
BRAZE_API int braze_read(void *dst, braze_array *a, braze_error *err);
/* Make the buffer writable by this process: waits until nothing pending reads it.
 * *data is writable until the buffer's next use in any operation. */
BRAZE_API int braze_fence(void **data, braze_array *a, braze_check_fn *check, void *cdata,
			  braze_error *err);
/* May the buffer be written now, without braze_fence? */
BRAZE_API int braze_is_writable(const braze_array *a);
/* A read-only array that keeps a's present value whatever happens to a. */
BRAZE_API int braze_snapshot(braze_array **out, braze_array *a, braze_error *err);

/* ---- Memory of a GPU, with other libraries of this process ----
 *
 * The driver is libcuda.so.1, or the file that BRAZE_LIBCUDA names. */

/* a's present value where it lies on a device, mapped into this process.  No operation writes
 * there: who writes a goes on elsewhere.  It stays until braze_exported_release, the daemon's end
 * included, and counts for the user's quota.  write: the caller will write there; a must be an
 * array that nothing else reads.  *out is NULL where the value lies on no device, or on one that
 * this process has not. */
typedef struct braze_exported braze_exported;
BRAZE_API int braze_export(braze_exported **out, braze_array *a, int write, braze_check_fn *check,
			   void *data, braze_error *err);
/* Of the element [0,...,0]. */
BRAZE_API uint64_t braze_exported_address(const braze_exported *x);
/* This process's number of the device. */
BRAZE_API int braze_exported_device(const braze_exported *x);
/* What the device still does with the memory is waited for.  NULL is fine. */
BRAZE_API void braze_exported_release(braze_exported *x);
/* Does a's value lie on a device, and on which?  It is computed.  This process's number, -1: on
 * none of its; and the daemon's name. */
BRAZE_API int braze_device_of(int *device, char name[16], braze_array *a, braze_check_fn *check,
			      void *data, braze_error *err);
/* Rises with each write to the array. */
BRAZE_API uint64_t braze_version_of(const braze_array *a);

/* Elements of another library's in the memory of this process's device: copied, behind what
 * `stream` has to do (a CUstream; 1: the legacy stream).  Within the device where the daemon has it
 * and room there, else through the host. */
typedef struct braze_foreign {
	uint64_t address; /* of the element [0,...,0] */
	int device;	  /* this process's number; -1: the driver is asked */
	uint64_t stream;
	int dtype, ndim;
	const int64_t *shape, *strides; /* strides: bytes; NULL: in C order */
} braze_foreign;
BRAZE_API int braze_from_device(braze_array **out, braze_session *s, const braze_foreign *from,
				braze_error *err);

/* How the array's present value was made, and why so: lines for people, to be freed with free().
 * Waits for the value first, as braze_data does. */
BRAZE_API int braze_explain(char **text, braze_array *a, braze_check_fn *check, void *cdata,
			    braze_error *err);

/* ---- Arrays that sessions share ----
 *
 * A published array is read by other processes where it lies.  Nobody can write what is published:
 * who writes the array goes on with another copy, and publishing by the same name again makes the
 * name's next version, for who opens it from then on.  A version lives as long as somebody has it:
 * the session that published it, until it publishes the next one, takes the name back or ends; and
 * every session that has opened it.  Names have 1 to 63 letters, digits, dots, underscores and
 * hyphens, and belong to the user. */
typedef struct braze_published {
	uint64_t version; /* of the name, from 1 on */
	uint64_t copied;  /* bytes: 0 if the value had memory of its own */
	char key[33];	  /* to: "key"; else "" */
} braze_published;
/* Publish a's value, waiting for it.  Without a copy where it has memory of its own and a shows all
 * of it: most results of 64 MiB and more, and those recorded under braze_set_shared; from that
 * memory others read, once.  to: who may open it besides this user: "nobody", "user:NAME",
 * "group:NAME" (names or numbers), "key": who has the key that is returned; NULL: as the name's
 * last version. */
BRAZE_API int braze_publish(braze_published *out, braze_array *a, const char *name, const char *to,
			    braze_check_fn *check, void *data, braze_error *err);
/* The name ends; who has opened its versions keeps them.  BRAZE_E_UNPUBLISHED: there is none. */
BRAZE_API int braze_unpublish(braze_session *s, const char *name, braze_error *err);
/* The newest version of "NAME", of "USER/NAME", or of "key:KEY", to be read: writing it is
 * BRAZE_E_READONLY.  version: NULL or its number.  BRAZE_E_UNPUBLISHED: there is none, or not for
 * this user. */
BRAZE_API int braze_open(braze_array **out, uint64_t *version, braze_session *s, const char *name,
			 braze_error *err);
/* on: what is recorded from now on gets memory of its own, so that it is published without a copy.
 * A property of the session.  At most 256 arrays of a user have such memory; others are copied. */
BRAZE_API int braze_set_shared(braze_session *s, int on, braze_error *err);

/* ---- Kernels: programs of loops over elements, as text ---- */

/* docs/language.md tells what a text says.  A kernel runs in this process, in the call, but where
 * its loops can be a GPU's (braze_kernel_send); it belongs to no session, and any thread may call
 * it. */
typedef struct braze_kernel braze_kernel;
/* The message of an error in the text begins "line 3, column 7: ".  length: bytes of the text. */
BRAZE_API int braze_kernel_create(braze_kernel **out, const char *text, size_t length,
				  braze_error *err);
BRAZE_API void braze_kernel_free(braze_kernel *k); /* NULL is fine */
BRAZE_API const char *braze_kernel_name(const braze_kernel *k);
typedef struct braze_parameter {
	const char *name; /* lives as long as the kernel */
	int dtype, ndim;  /* ndim 0: a scalar */
	int written;	  /* out, inout or a result */
	int result;
} braze_parameter;
/* Parameter i from 0, then the results: 1; 0: there are no more. */
BRAZE_API int braze_kernel_parameter(braze_parameter *out, const braze_kernel *k, int i);
/* An argument: an array; or data, memory of the caller's, with all that follows it; or, both NULL,
 * a number. */
typedef struct braze_kernel_arg {
	braze_array *array;
	void *data;
	int dtype, ndim, readonly;
	const int64_t *shape, *strides; /* strides in bytes; NULL: rows without gaps */
	braze_scalar scalar;
} braze_kernel_arg;
/* Types and numbers of axes are the parameters'; scalars are cast within their kind.  Arrays are
 * waited for, and what is written is written where it lies: arguments may overlap, and until the
 * call ends nobody else may use them.  results: one number for each.  check is called every 50 ms,
 * and ends the call with BRAZE_E_INTERRUPTED.  After an error, a wrong index above all
 * (BRAZE_E_INDEX), what was written before it stays. */
BRAZE_API int braze_kernel_call(braze_scalar *results, braze_kernel *k, int nargs,
				const braze_kernel_arg *args, braze_check_fn *check, void *data,
				braze_error *err);
/* Where all arrays are one session's whose device is a GPU, or is chosen by cost and the kernel's
 * runs have taken so long that a GPU pays (docs/gpu.md), and each loop's turns are independent with
 * these arguments: the loops become operations on the arrays, as if they were recorded by
 * other functions of this library, and nothing is waited for but scalars that loops add up, where
 * something depends on one; *sent 1.  Else nothing is done: 0.  Who ends such a wait gets
 * BRAZE_E_INTERRUPTED, and what loops before it write is written.
 * braze_kernel_call begins with this; it is for who would rather not wait for the arrays.
 * BRAZE_KERNEL_GPU=0 in the environment: never. */
BRAZE_API int braze_kernel_send(int *sent, braze_scalar *results, braze_kernel *k, int nargs,
				const braze_kernel_arg *args, braze_error *err);

/* Has the session's daemon compile the kernel, whose runs are quicker then; those under way go over
 * to the code at the next turn of their outermost loop.  0: there is code.  BRAZE_E_TIMEOUT: it is
 * being compiled, only if wait is 0; ask again to see.  Another code: there will be none, and err
 * says why; the kernel runs by what libbraze makes of it at once.  braze_kernel_call asks by
 * itself, without waiting, for kernels of arrays whose runs take over 2 ms, or 20 ms together,
 * unless the session has an owner.  BRAZE_KERNEL_CODE=0 in the environment: never, and kernels are
 * interpreted. */
BRAZE_API int braze_kernel_code(braze_kernel *k, braze_session *s, int wait, braze_check_fn *check,
				void *data, braze_error *err);
/* Does it run by compiled code? */
BRAZE_API int braze_kernel_compiled(const braze_kernel *k);
/* Have its runs taken so long that a compiler should be asked?  1: without waiting; 2: what is
 * interpreted should wait; 0: no, or there is code, or will be none. */
BRAZE_API int braze_kernel_wants(const braze_kernel *k);
/* Microseconds of its longest run until now. */
BRAZE_API int64_t braze_kernel_longest(const braze_kernel *k);
/* on: from now on each call keeps what it knows of its kernel's loops: which may run on several
 * cores with its arguments, and why the others may not.  Of the whole process. */
BRAZE_API void braze_kernel_explain(int on);
/* From now on kernels of this process run loops in a row as they are written (on), or as one where
 * that is the same to the bit, as they begin. */
BRAZE_API void braze_kernel_unfused(int on);
/* How many rows of loops that stand behind each other in its text may be one loop each; whether
 * they are each call sees. */
BRAZE_API int braze_kernel_rows(const braze_kernel *k);
/* What the last call has kept, a line for each loop, to be freed with free(); NULL: nothing, or it
 * was taken already. */
BRAZE_API char *braze_kernel_loops(braze_kernel *k);

/* What this session did: for tests and benchmarks. */
struct braze_counters {
	uint64_t ops, packets, demands, round_trips, bytes_leased;
	uint64_t near; /* operations computed in their call; none of ops */
	uint64_t published, opened;
	uint64_t copied; /* bytes, since a value that was published had no memory of its own */
	/* Arrays whose memory on a device others in this process got; arrays of others' devices
	 * that were copied within the device, and through the host. */
	uint64_t exported, brought, carried;
};
BRAZE_API void braze_get_counters(braze_session *s, struct braze_counters *out);

#ifdef __cplusplus
}
#endif
#endif
