/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker_factors.c - a slice of matrices' factors on the pool: for who asks the processor
 * for them by name.  A thread takes a matrix at a time. */
#include <stdlib.h>
#include <string.h>

#include "call/factors.h"
#include "dense.h"
#include "worker.h"

/* One matrix, in double precision. */
struct matrix {
	const struct solver_layout *lay;
	unsigned kind, dtype;
	dense *a;     /* as it was read, with B */
	dense *b, *c; /* Q, U or eigenvectors; V^H */
	double *real; /* eigenvalues or singular values */
	int64_t *pivot;
	int info;
	struct dense_go go;
};

struct factors_step {
	const struct worker_call *x;
	struct solver_layout lay;
	bool failed; /* no memory; any thread sets it */
};

static void load(dense *to, const char *from, int64_t n, unsigned dtype)
{
	for (int64_t k = 0; k < n; k++)
		switch (dtype) {
		case DT_FLOAT32:
			to[k] = (double)((const float *)from)[k];
			break;
		case DT_FLOAT64:
			to[k] = ((const double *)from)[k];
			break;
		case DT_COMPLEX64:
			to[k] = (dense)((const float complex *)from)[k];
			break;
		default:
			to[k] = ((const dense *)from)[k];
		}
}

static void store(char *to, const dense *from, int64_t n, unsigned dtype)
{
	for (int64_t k = 0; from && k < n; k++)
		switch (dtype) {
		case DT_FLOAT32:
			((float *)to)[k] = (float)creal(from[k]);
			break;
		case DT_FLOAT64:
			((double *)to)[k] = creal(from[k]);
			break;
		case DT_COMPLEX64:
			((float complex *)to)[k] = (float complex)from[k];
			break;
		default:
			((dense *)to)[k] = from[k];
		}
}

static void store_real(char *to, const double *from, int64_t n, unsigned bytes)
{
	for (int64_t k = 0; k < n; k++)
		if (bytes == sizeof(float))
			((float *)to)[k] = (float)from[k];
		else
			((double *)to)[k] = from[k];
}

/* Reflectors become columns of Q. */
static int make_q(struct matrix *m)
{
	const struct solver_layout *l = m->lay;
	int64_t least = l->rows < l->columns ? l->rows : l->columns;
	int rc = dense_qr(m->a, l->rows, l->columns, m->c, &m->go);

	if (!l->right || rc)
		return rc;
	memcpy(m->b, m->a, (size_t)(l->rows * least) * sizeof *m->b);
	return dense_q(m->b, l->rows, l->right, least, m->c, &m->go);
}

static int compute(struct matrix *m)
{
	const struct solver_layout *l = m->lay;
	const struct dense_go *go = &m->go;
	int64_t n = l->columns;
	int rc = 0;

	switch (m->kind) {
	case SOLVER_LU:
	case SOLVER_SOLVE:
		rc = dense_lu(m->a, n, m->pivot, go);
		if (m->kind == SOLVER_SOLVE && rc >= 0 &&
		    dense_lu_solve(m->a, m->pivot, m->a + n * n, n, l->right, go))
			rc = DENSE_STOPPED;
		return rc;
	case SOLVER_CHOLESKY:
		return dense_cholesky(m->a, n, go);
	case SOLVER_EIGVALSH:
	case SOLVER_EIGH:
		return dense_eigh(m->a, n, m->real, m->b, go);
	case SOLVER_SVDVALS:
	case SOLVER_SVD:
	case SOLVER_SVD_ALL:
		return dense_svd(m->a, l->rows, n, m->real, l->right ? m->b : NULL, l->right, m->c,
				 go);
	default:
		return make_q(m);
	}
}

/* Where solver_kind says. */
static void put(char *to, const struct matrix *m)
{
	const struct solver_layout *l = m->lay;
	int64_t n = l->columns, all = l->rows * n;
	unsigned real = solver_real_bytes(m->dtype);
	int32_t info = m->info;

	memcpy(to + l->part[SOLVER_INFO].at, &info, sizeof info);
	switch (m->kind) {
	case SOLVER_LU:
		store(to, m->a, all, m->dtype);
		memcpy(to + l->part[1].at, m->pivot, (size_t)n * sizeof *m->pivot);
		break;
	case SOLVER_SOLVE:
		store(to, m->a + n * n, n * l->right, m->dtype);
		break;
	case SOLVER_EIGH:
		store(to, m->b, all, m->dtype);
		/* fall through */
	case SOLVER_EIGVALSH:
		store_real(to + l->part[1].at, m->real, n, real);
		break;
	case SOLVER_SVDVALS:
	case SOLVER_SVD:
	case SOLVER_SVD_ALL:
		store(to, m->b, l->rows * l->right, m->dtype);
		store(to + l->part[1].at, m->c, l->right ? n * n : 0, m->dtype);
		store_real(to + l->part[2].at, m->real, n, real);
		break;
	default:
		store(to, m->a, all, m->dtype);
		store(to + l->part[1].at, m->b, l->rows * l->right, m->dtype);
	}
}

static bool equip(struct matrix *m, int64_t elements)
{
	const struct solver_layout *l = m->lay;
	int64_t most = l->right > l->columns ? l->right : l->columns;
	size_t n = (size_t)l->columns;

	m->a = calloc((size_t)elements, sizeof *m->a);
	m->b = calloc((size_t)(l->rows * most), sizeof *m->b);
	m->c = calloc(n * n, sizeof *m->c);
	m->real = calloc(n, sizeof *m->real);
	m->pivot = calloc(n, sizeof *m->pivot);
	return m->a && m->b && m->c && m->real && m->pivot;
}

/* A thread at its matrix: who watches sees that it goes on, and it sees that it shall not. */
struct sign {
	struct worker *w;
	int thread;
};

static bool go_on(void *data)
{
	const struct sign *s = data;

	if (s->thread)
		s->w->progress->thread[s->thread].turns++;
	else
		worker_poll(s->w);
	return !bz_cancelled(&s->w->cancel);
}

static void one_matrix(void *data, int thread, int64_t part)
{
	struct factors_step *s = data;
	const struct worker_call *x = s->x;
	const struct plan_call *c = &x->call;
	int64_t unit = x->lo + part, all = c->extent[FACTORS_ROW] * c->extent[FACTORS_COLUMN];
	struct sign sign = {x->w, thread};
	struct matrix m = {.lay = &s->lay,
			   .kind = (unsigned)c->operand[0].at,
			   .dtype = c->dtype,
			   .go = {go_on, &sign}};

	worker_unit_begin(x->w, x->cmd, thread);
	if (!bz_cancelled(&x->w->cancel)) {
		if (equip(&m, all)) {
			load(m.a, x->base[0] + unit * factors_bytes(c), all, c->dtype);
			m.info = compute(&m);
			put(x->base[1] + unit * s->lay.bytes, &m);
		} else {
			__atomic_store_n(&s->failed, true, __ATOMIC_RELAXED);
		}
	}
	free(m.a);
	free(m.b);
	free(m.c);
	free(m.real);
	free(m.pivot);
	worker_unit_end(x->w, thread);
}

enum status worker_factors(const struct worker_call *x, struct err *err)
{
	struct factors_step s = {.x = x};

	factors_layout(&s.lay, &x->call);
	pool_run(x->w->pool, one_matrix, &s, x->hi - x->lo, worker_poll, x->w);
	if (bz_cancelled(&x->w->cancel))
		return err_set(err, E_CANCELLED, "cancelled inside step %u", x->cmd->index);
	if (s.failed)
		return err_set(err, E_NOMEM, "no memory for factors of %lld x %lld numbers",
			       (long long)s.lay.rows, (long long)s.lay.columns);
	return OK;
}
