/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/points.c - places along the loops over them. */
#include "points.h"

static bool joins(const struct points *p, const int64_t *const *stride, int i, int64_t extent)
{
	for (int k = 0; k < p->naxes; k++)
		if (p->step[k][p->w.n - 1] != extent * stride[k][i])
			return false;
	return true;
}

void points_lay(struct points *p, const struct shape *spread, const int64_t *const *stride,
		const int64_t *from, int64_t *along)
{
	p->w.n = 0;
	for (int i = 0; i < spread->ndim; i++) {
		int64_t extent = spread->dim[i];

		if (extent == 1)
			continue;
		if (p->w.n && joins(p, stride, i, extent) &&
		    (!from || along[p->w.n - 1] == extent * from[i]))
			extent *= p->w.extent[--p->w.n];
		p->w.extent[p->w.n] = extent;
		for (int k = 0; k < p->naxes; k++)
			p->step[k][p->w.n] = stride[k][i];
		if (from)
			along[p->w.n] = from[i];
		p->w.n++;
	}
	if (p->w.n)
		return;
	p->w.n = 1;
	p->w.extent[0] = 1;
	for (int k = 0; k < p->naxes; k++)
		p->step[k][0] = 0;
	if (from)
		along[0] = 0;
}

int64_t points_count(const struct points *p)
{
	int64_t n = 1;

	for (int i = 0; i < p->w.n; i++)
		n *= p->w.extent[i];
	return n;
}

const char *points_wrong(struct points *p, int k)
{
	struct scatter_axis *all = &p->axis[k];
	struct scatter_axis row = *all;
	struct walk w = {.n = 0};
	int64_t step[LIMIT_NDIM] = {0}, index[LIMIT_NDIM] = {0}, stride = 0, rows = 1;

	/* The loops along which this one moves. */
	for (int i = 0; i < p->w.n; i++) {
		if (!p->step[k][i])
			continue;
		step[w.n] = p->step[k][i];
		w.extent[w.n++] = p->w.extent[i];
	}
	if (!w.n)
		w.extent[w.n++] = 1;
	stride = step[w.n - 1];
	for (int i = 0; i < w.n - 1; i++)
		rows *= w.extent[i];
	for (; rows > 0; rows--) {
		int64_t n = w.extent[w.n - 1], good = 0;

		row.at = all->at + walk_offset(&w, step, index);
		good = scatter_inside(&row, stride, n);
		if (good < n)
			return row.at + good * stride;
		walk_next_row(&w, index);
	}
	all->reach = row.reach;
	return NULL;
}

void points_offsets(const struct points *p, int64_t *offset, const int64_t *index, int64_t done,
		    int64_t n)
{
	int last = p->w.n - 1;
	int64_t more[POINTS_BLOCK];

	for (int k = 0; k < p->naxes; k++) {
		struct scatter_axis row = p->axis[k];

		row.at += walk_offset(&p->w, p->step[k], index) + done * p->step[k][last];
		scatter_offsets(k ? more : offset, &row, p->step[k][last], n);
		for (int64_t i = 0; k && i < n; i++)
			offset[i] += more[i];
	}
}
