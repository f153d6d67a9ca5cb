/* SPDX-License-Identifier: Apache-2.0 */
/* proto/solver.c - see solver.h. */
#include "solver.h"

#include <string.h>

static const char *const names[SOLVER_KINDS] = {"lu",	   "solve",  "cholesky", "qr.r",
						"qr",	   "qr.all", "eigvalsh", "eigh",
						"svdvals", "svd",    "svd.all"};

const char *solver_name(unsigned kind)
{
	return kind < SOLVER_KINDS ? names[kind] : NULL;
}

int solver_find(const char *name)
{
	for (int k = 0; k < SOLVER_KINDS; k++)
		if (!strcmp(name, names[k]))
			return k;
	return -1;
}

unsigned solver_real_bytes(unsigned dtype)
{
	if (dtype == DT_FLOAT32 || dtype == DT_COMPLEX64)
		return 4;
	return dtype == DT_FLOAT64 || dtype == DT_COMPLEX128 ? 8 : 0;
}

/* Has a matrix of these rows and columns, all of the operand's, such factors? */
static bool fits(struct solver_layout *l, unsigned kind)
{
	int64_t least = l->rows < l->columns ? l->rows : l->columns;

	switch (kind) {
	case SOLVER_SOLVE:
		l->right = l->columns - l->rows;
		l->columns = l->rows;
		return l->right > 0;
	case SOLVER_QR_R:
		return true;
	case SOLVER_QR:
		l->right = least;
		return true;
	case SOLVER_QR_ALL:
		l->right = l->rows;
		return true;
	case SOLVER_SVDVALS:
	case SOLVER_SVD:
	case SOLVER_SVD_ALL:
		l->right = kind == SOLVER_SVDVALS ? 0 : kind == SOLVER_SVD ? least : l->rows;
		return l->columns <= l->rows;
	default:
		return l->rows == l->columns;
	}
}

static void put(struct solver_layout *l, unsigned part, unsigned dtype, int64_t rows,
		int64_t columns)
{
	l->part[part] = (struct solver_part){
		.rows = rows, .columns = columns, .dtype = (uint8_t)dtype, .ndim = 2};
}

static void put_line(struct solver_layout *l, unsigned part, unsigned dtype)
{
	put(l, part, dtype, l->columns, 1);
	l->part[part].ndim = 1;
}

/* What there is of each kind, without its places. */
static void put_parts(struct solver_layout *l, unsigned kind, unsigned dtype)
{
	unsigned real = solver_real_bytes(dtype) == 8 ? DT_FLOAT64 : DT_FLOAT32;

	switch (kind) {
	case SOLVER_LU:
		put(l, 0, dtype, l->rows, l->columns);
		put_line(l, 1, DT_INT64);
		break;
	case SOLVER_SOLVE:
		put(l, 0, dtype, l->rows, l->right);
		break;
	case SOLVER_EIGH:
		put(l, 0, dtype, l->rows, l->columns);
		/* fall through */
	case SOLVER_EIGVALSH:
		put_line(l, 1, real);
		break;
	case SOLVER_SVD:
	case SOLVER_SVD_ALL:
		put(l, 0, dtype, l->rows, l->right);
		put(l, 1, dtype, l->columns, l->columns);
		/* fall through */
	case SOLVER_SVDVALS:
		put_line(l, 2, real);
		break;
	default: /* a factor, and Q */
		put(l, 0, dtype, l->rows, l->columns);
		if (l->right)
			put(l, 1, dtype, l->rows, l->right);
	}
	l->part[SOLVER_INFO] = (struct solver_part){.rows = 1, .columns = 1, .dtype = DT_INT32};
}

/* No product passes 2^60. */
static int64_t bytes_of(const struct solver_part *p)
{
	int64_t bytes = p->rows * p->columns * (p->rows ? dtype_row(p->dtype)->bytes : 0);

	return (bytes + SOLVER_ALIGNED - 1) / SOLVER_ALIGNED * SOLVER_ALIGNED;
}

bool solver_lay(struct solver_layout *out, unsigned kind, unsigned dtype, int64_t rows,
		int64_t columns)
{
	*out = (struct solver_layout){.rows = rows, .columns = columns};
	if (kind >= SOLVER_KINDS || !solver_real_bytes(dtype) || rows < 1 || rows > SOLVER_EXTENT ||
	    columns < 1 || columns > SOLVER_EXTENT || !fits(out, kind))
		return false;
	put_parts(out, kind, dtype);
	for (unsigned x = 0; x <= SOLVER_INFO; x++) {
		out->part[x].at = out->bytes;
		out->bytes += bytes_of(&out->part[x]);
	}
	return true;
}

double solver_flops(const struct solver_layout *l, unsigned kind, unsigned dtype)
{
	double m = (double)l->rows, n = (double)l->columns, right = (double)l->right;
	double each = dtype_row(dtype)->cls == CLASS_COMPLEX ? 4 : 1;

	switch (kind) {
	case SOLVER_LU:
	case SOLVER_SOLVE:
		return each * (n * n * n * 2 / 3 + 2 * n * n * right);
	case SOLVER_CHOLESKY:
		return each * n * n * n / 3;
	case SOLVER_QR_R:
	case SOLVER_QR:
	case SOLVER_QR_ALL:
		return each * 2 * m * n * (n < m ? n : m) + each * 2 * m * n * right;
	case SOLVER_EIGVALSH:
	case SOLVER_EIGH:
		return each * n * n * n * (kind == SOLVER_EIGH ? 9 : 4.0 / 3);
	default:
		return each * (4 * m * n * n + 8 * m * n * right);
	}
}
