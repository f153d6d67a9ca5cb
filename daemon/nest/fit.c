/* SPDX-License-Identifier: Apache-2.0 */
#include "fit.h"

#include <string.h>

struct pairing {
	const struct nest *guest, *host;
	unsigned nloop; /* loops of the host that the guest must fill: 0..nloop-1 */
	bool split;	/* both reduce: parallel loops pair up, reduced loops stay in order */
	struct fit *fit;
};

/* Has the nest a loop whose extent is a size?  What would be so many steps further on there is in
 * one turn, is not in others. */
static bool has_sizes(const struct part *part, const struct nest *n)
{
	for (unsigned l = 0; part->nsize && l < (unsigned)n->npar + n->nred; l++)
		if (part_size_of(part, n->extent[l]) < part->nsize)
			return true;
	return false;
}

static unsigned loops(const struct nest *n)
{
	return (unsigned)n->npar + n->nred;
}

/* Move the guest's strides to the host's loops by fit->loop. */
static bool spread(const struct pairing *p)
{
	memset(p->fit->stride, 0, sizeof p->fit->stride[0] * p->guest->naccess);
	for (unsigned k = 0; k < p->guest->naccess; k++)
		for (unsigned l = 0; l < loops(p->guest); l++)
			p->fit->stride[k][p->fit->loop[l]] = p->guest->access[k].stride[l];
	return true;
}

static bool plain(const struct pairing *p)
{
	if (loops(p->guest) != p->nloop)
		return false;
	for (unsigned l = 0; l < p->nloop; l++) {
		if (p->guest->extent[l] != p->host->extent[l])
			return false;
		p->fit->loop[l] = (uint8_t)l;
	}
	return spread(p);
}

static bool pairs(const struct pairing *p, unsigned g, unsigned h)
{
	if (p->guest->extent[g] != p->host->extent[h])
		return false;
	if (!p->split)
		return true;
	return g < p->guest->npar ? h < p->host->npar : h == g;
}

/* Pair loops along which both accesses move by the same stride; loops along which
 * the guest's does not move take what is left, in order. */
static bool by_stride(const struct pairing *p, const struct nest_access *ga,
		      const struct nest_access *ha)
{
	unsigned taken = 0;

	if (loops(p->guest) != p->nloop)
		return false;
	for (int zero = 0; zero < 2; zero++) {
		for (unsigned g = 0; g < p->nloop; g++) {
			unsigned h;

			if ((ga->stride[g] == 0) != zero)
				continue;
			for (h = 0; h < p->nloop; h++)
				if (!(taken >> h & 1) && ga->stride[g] == ha->stride[h] &&
				    pairs(p, g, h))
					break;
			if (h == p->nloop)
				return false;
			taken |= 1u << h;
			p->fit->loop[g] = (uint8_t)h;
		}
	}
	return spread(p);
}

/* Strides over new extents of the same points in the same order, or false when
 * the access does not move evenly along one of them. */
static bool reshape(int64_t *out, const int64_t *to, unsigned nto, const int64_t *from,
		    const int64_t *stride, unsigned nfrom)
{
	unsigned i = 0, j = 0;

	while (i < nfrom && j < nto) {
		unsigned i0 = i, j0 = j;
		int64_t a = from[i++], b = to[j++];
		int64_t s;

		while (a != b) {
			if (a < b && i < nfrom)
				a *= from[i++];
			else if (b < a && j < nto)
				b *= to[j++];
			else
				return false;
		}
		for (unsigned k = i0; k + 1 < i; k++)
			if (stride[k] != stride[k + 1] * from[k + 1])
				return false;
		s = stride[i - 1];
		for (unsigned k = j; k-- > j0;) {
			out[k] = s;
			s *= to[k];
		}
	}
	return i == nfrom && j == nto;
}

/* Does an instruction name a loop? */
static bool uses_index(const struct nest *n)
{
	for (unsigned k = 0; k < n->ninstr; k++)
		if (instr_names(n->instr[k].op, ARG_LOOP))
			return true;
	return false;
}

/* Cut the guest's loops anew so that they follow the host's access through memory. */
static bool by_reshape(const struct pairing *p, const struct nest_access *ha)
{
	uint8_t order[LIMIT_NDIM];
	int64_t to[LIMIT_NDIM], s[LIMIT_NDIM];

	if (p->guest->nred || uses_index(p->guest) || has_sizes(p->fit->part, p->guest) ||
	    has_sizes(p->fit->part, p->host))
		return false;
	for (unsigned h = 0; h < p->nloop; h++) {
		unsigned k = h;

		if (ha->stride[h] <= 0)
			return false;
		while (k && ha->stride[order[k - 1]] < ha->stride[h]) {
			order[k] = order[k - 1];
			k--;
		}
		order[k] = (uint8_t)h;
	}
	for (unsigned k = 0; k < p->nloop; k++)
		to[k] = p->host->extent[order[k]];
	memset(p->fit->stride, 0, sizeof p->fit->stride[0] * p->guest->naccess);
	for (unsigned a = 0; a < p->guest->naccess; a++) {
		if (!reshape(s, to, p->nloop, p->guest->extent, p->guest->access[a].stride,
			     loops(p->guest)))
			return false;
		for (unsigned k = 0; k < p->nloop; k++)
			p->fit->stride[a][order[k]] = s[k];
	}
	return true;
}

/* The pair of accesses to one slot that should meet: a store and its load before
 * two loads. */
static bool meeting(const struct pairing *p, unsigned *g, unsigned *h)
{
	bool found = false;

	for (unsigned i = 0; i < p->guest->naccess; i++) {
		for (unsigned j = 0; j < p->host->naccess; j++) {
			const struct nest_access *a = &p->guest->access[i];
			const struct nest_access *b = &p->host->access[j];

			if (a->slot != b->slot || a->gather | b->gather)
				continue;
			if (a->write | b->write) {
				*g = i;
				*h = j;
				return true;
			}
			if (!found) {
				*g = i;
				*h = j;
				found = true;
			}
		}
	}
	return found;
}

static bool shared(const struct pairing *p)
{
	unsigned g, h;

	if (!meeting(p, &g, &h))
		return false;
	return by_stride(p, &p->guest->access[g], &p->host->access[h]) ||
	       by_reshape(p, &p->host->access[h]);
}

static bool pair_up(struct pairing *p, bool by_shared)
{
	return by_shared ? shared(p) : plain(p);
}

/* See fit.h. */
bool fit_try(struct fit *f, enum fit_way way, const struct prog_unit *earlier,
	     const struct prog_unit *later)
{
	const struct nest *e = earlier->nest, *l = later->nest;
	struct pairing p = {.host = e, .guest = l, .fit = f};
	bool by_shared = way == FIT_SHARED || way == FIT_SHARED_POST;

	f->guest_later = true;
	f->post = way == FIT_POST || way == FIT_SHARED_POST;
	if (f->post) {
		if (!e->nred || l->nred)
			return false;
		p.nloop = e->npar;
		return pair_up(&p, by_shared);
	}
	p.split = e->nred && l->nred;
	if (p.split && (e->npar != l->npar || e->nred != l->nred))
		return false;
	/* The nest with the finer loops is the host. */
	if (!e->nred && (l->nred || loops(l) > loops(e))) {
		p.host = l;
		p.guest = e;
		f->guest_later = false;
	}
	p.nloop = loops(p.host);
	return pair_up(&p, by_shared);
}
