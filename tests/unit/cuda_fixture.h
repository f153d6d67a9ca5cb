/* SPDX-License-Identifier: Apache-2.0 */
/* Nests run by a CUDA driver (or its stand-in) and compared with tier 0: bit by bit, or
 * within some ulp where CUDA's own functions are in play (NaN equal to NaN).
 *
 * BRAZE_LIBCUDA names the driver.  Without it or without NVRTC there is nothing to
 * test, which a line tells. */
#ifndef BRAZE_CUDA_FIXTURE_H
#define BRAZE_CUDA_FIXTURE_H

#include "../kept.h"
#include "emit_fixture.h"

#include "base/cuda_find.h"
#include "cuda/cuda_geometry.h"

#define CUDA_UNITS 4 /* multiprocessors that launches are planned for */

struct cuda_fixture {
	int (*init)(unsigned);
	int (*device)(int *, int);
	int (*attribute)(int *, int, int);
	int (*retain)(void **, int);
	int (*current)(void *);
	int (*alloc)(uint64_t *, size_t);
	int (*release)(uint64_t);
	int (*upload)(uint64_t, const void *, size_t, void *);
	int (*download)(void *, uint64_t, size_t, void *);
	int (*load)(void **, const void *, unsigned, void *, void *);
	int (*unload)(void *);
	int (*function)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*synchronize)(void *);
	unsigned arch; /* compute capability */
	int ntotal, nfailed;
};

static struct cuda_find cuda_nvrtc;
static const char *const cuda_nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
					       NULL};

static inline bool cuda_fixture_nvrtc(void)
{
	if (cuda_find(&cuda_nvrtc, kept_nvrtc(), cuda_nvrtc_names))
		return true;
	fprintf(stderr, "skipped: %s\n", cuda_nvrtc.text);
	return false;
}

/* False, with a line that tells why: there is no driver or no NVRTC. */
static inline bool cuda_fixture_open(struct cuda_fixture *f)
{
	const char *path = getenv("BRAZE_LIBCUDA");
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *context;
	struct {
		const char *name;
		void *at;
	} want[] = {{"cuInit", &f->init},
		    {"cuDeviceGet", &f->device},
		    {"cuDeviceGetAttribute", &f->attribute},
		    {"cuDevicePrimaryCtxRetain", &f->retain},
		    {"cuCtxSetCurrent", &f->current},
		    {"cuMemAlloc_v2", &f->alloc},
		    {"cuMemFree_v2", &f->release},
		    {"cuMemcpyHtoDAsync_v2", &f->upload},
		    {"cuMemcpyDtoHAsync_v2", &f->download},
		    {"cuModuleLoadDataEx", &f->load},
		    {"cuModuleUnload", &f->unload},
		    {"cuModuleGetFunction", &f->function},
		    {"cuLaunchKernel", &f->launch},
		    {"cuStreamSynchronize", &f->synchronize}};
	int device, major = 0, minor = 0;

	memset(f, 0, sizeof *f);
	if (!lib) {
		fprintf(stderr, "skipped: BRAZE_LIBCUDA names no driver (%s)\n",
			path ? dlerror() : "it is not set");
		return false;
	}
	if (!cuda_fixture_nvrtc())
		return false;
	for (unsigned i = 0; i < sizeof want / sizeof want[0]; i++) {
		void *p = dlsym(lib, want[i].name);

		cr_assert(p, "%s has no %s", path, want[i].name);
		memcpy(want[i].at, &p, sizeof p);
	}
	cr_assert_eq(f->init(0), 0);
	cr_assert_eq(f->device(&device, 0), 0);
	cr_assert_eq(f->attribute(&major, 75, device), 0);
	cr_assert_eq(f->attribute(&minor, 76, device), 0);
	f->arch = (unsigned)(10 * major + minor);
	cr_assert_eq(f->retain(&context, device), 0);
	cr_assert_eq(f->current(context), 0);
	return true;
}

/* Text to code for this architecture; one newer than NVRTC knows gives PTX, which ends
 * with a 0. */
static inline char *cuda_fixture_compile(const char *source, struct compile_nvrtc *job,
					 const char *name)
{
	char log[COMPILE_LOG_BYTES], *code;
	struct err err = {OK, ""};
	uint64_t bytes = 0;
	int in = -1, out = -1;

	job->library = cuda_nvrtc.path;
	cr_assert_eq(compile_wire_memfd(&in, "s", source, strlen(source), &err), OK);
	cr_assert_eq(compile_nvrtc_run(&out, &bytes, job, in, log, &err), OK, "%s: %s\n%s", name,
		     err.text, log);
	code = calloc(1, bytes + 1);
	cr_assert_eq(pread(out, code, bytes, 0), (ssize_t)bytes);
	close(in);
	close(out);
	return code;
}

/* From a number of so many bytes to the next greater one; x is not negative. */
static inline double step_above(double x, unsigned bytes)
{
	if (bytes == 2)
		return x < 0x1p-14 ? 0x1p-24 : ldexp(1, ilogb(x) - 10);
	return bytes == 4 ? (double)(nextafterf((float)x, INFINITY) - (float)x)
			  : nextafter(x, INFINITY) - x;
}

/* Distance in units of the last place of the greater; 0 for equal, NaN or zeros. */
static inline double ulp_apart(double a, double b, unsigned bytes)
{
	if (a == b || (isnan(a) && isnan(b)))
		return 0;
	if (isnan(a) || isnan(b) || isinf(a) || isinf(b))
		return INFINITY;
	return fabs(a - b) / step_above(fmax(fabs(a), fabs(b)), bytes);
}

/* Complex values are compared as points of the plane: by the greater component. */
static inline double element_apart(const char *a, const char *b, unsigned dtype)
{
	const struct dtype_row *row = dtype_row(dtype);
	bool complex = row->cls == CLASS_COMPLEX;
	unsigned bytes = row->bytes / (complex ? 2u : 1u);
	double x, y, u, v, size;

	if (row->cls < CLASS_FLOAT || dtype == DT_BFLOAT16)
		return memcmp(a, b, row->bytes) ? INFINITY : 0;
	x = float_at(a, bytes);
	y = float_at(b, bytes);
	if (!complex)
		return ulp_apart(x, y, bytes);
	u = float_at(a + bytes, bytes);
	v = float_at(b + bytes, bytes);
	if (!isfinite(x) || !isfinite(y) || !isfinite(u) || !isfinite(v))
		return fmax(ulp_apart(x, y, bytes), ulp_apart(u, v, bytes));
	size = fmax(fmax(fabs(x), fabs(y)), fmax(fabs(u), fabs(v)));
	return size == 0 ? 0 : fmax(fabs(x - y), fabs(u - v)) / step_above(size, bytes);
}

/* ---- nests of many operations ----------------------------------------------------- */

#define OPS_TOGETHER 24

/* Can this elementwise operation be computed in this type, without a cast before it? */
static inline bool op_takes(unsigned op, unsigned dtype, struct op_sig *sig)
{
	const struct op_row *row = op_row(op);
	struct op_arg arg[3] = {
		{(uint8_t)dtype, false}, {(uint8_t)dtype, false}, {(uint8_t)dtype, false}};

	if (!row || row->kind != KIND_EW || op == OP_CAST || op == OP_INDEX || !dtype_native(dtype))
		return false;
	if (op == OP_WHERE)
		arg[0].dtype = DT_BOOL;
	return !op_infer(sig, (enum op)op, arg, DTYPE_END, NULL) &&
	       sig->in[row->arity - 1] == dtype && dtype_native(sig->out);
}

/* The next operations from *op on of a type, each on the same operands (that walk by
 * gaps[turn]...) into an access of its own; false: none is left. */
static inline bool ops_nest(struct nest *n, unsigned *op, unsigned dtype, unsigned turn,
			    int64_t rows, int64_t columns)
{
	static const int gaps[] = {1, 3, -2, 0};
	unsigned x, y, z, c, count = 0;

	memset(n, 0, sizeof *n);
	n->npar = 2;
	n->width = 8;
	n->extent[0] = rows;
	n->extent[1] = columns;
	x = nest_load(n, dtype, 2, gaps[turn % 4], 3);
	y = nest_load(n, dtype, 2, gaps[(turn + turn / 4) % 4], 3);
	z = nest_load(n, dtype, 2, 1, 3);
	c = nest_load(n, DT_BOOL, 2, 1, 3);
	for (; *op < OP_END && count < OPS_TOGETHER; ++*op) {
		struct op_sig sig;
		unsigned v[3] = {x, y, z};

		if (!op_takes(*op, dtype, &sig))
			continue;
		if (*op == OP_WHERE) {
			v[0] = c;
			v[1] = x;
			v[2] = y;
		}
		nest_store(n, nest_put(n, *op, sig.out, dtype, v[0], v[1], v[2]), 2, 1, 3);
		count++;
	}
	nest_finish(n, 1);
	return count > 0;
}

/* Every type that a type is cast to. */
static inline void casts_nest(struct nest *n, unsigned from, int64_t columns)
{
	unsigned x;

	memset(n, 0, sizeof *n);
	n->npar = 1;
	n->width = 8;
	n->extent[0] = columns;
	x = nest_load(n, from, 1, 1, 1);
	for (unsigned to = 0; to < DTYPE_END; to++)
		if (dtype_native(to))
			nest_store(n, nest_put(n, OP_CAST, to, from, x, 0, 0), 1, 1, 1);
	nest_finish(n, 0);
}

#endif
