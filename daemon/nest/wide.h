/* SPDX-License-Identifier: Apache-2.0 */
/* nest/wide.h - a nest under reconstruction, with room for twice the limits.
 *
 * Passes append code here, mark what is dead, and pack the rest back into a
 * nest.  Appending shares equal accesses and scalars; where `forward` is set it
 * also reuses loaded and stored values instead of loading again.  That is right
 * because two accesses of a valid nest, one a write, are either the same element
 * at every point or never overlap; what is gathered overlaps no write.  Of two types
 * they may be the same bytes: no value is reused across such a write.  A value that a
 * section before has stored, and that is not handed on, is computed again where that is
 * little work. */
#ifndef BRAZE_WIDE_H
#define BRAZE_WIDE_H

#include "prog.h"

#define WIDE_INSTRS   (3 * LIMIT_NEST_INSTRS) /* a third for what is computed again */
#define WIDE_ACCESSES (2 * LIMIT_NEST_ACCESSES)
#define WIDE_SCALARS  (2 * LIMIT_NEST_SCALARS)

struct wide {
	uint8_t npar, nred;
	uint16_t naccess, ninstr, nscalar;
	uint16_t ncut, cut[LIMIT_NEST_SECTIONS - 1]; /* where sections 1.. begin */
	uint16_t ngone, nnew, nagain;
	bool forward;
	int64_t extent[LIMIT_NDIM];
	struct nest_access access[WIDE_ACCESSES];
	struct nest_instr instr[WIDE_INSTRS];
	bool dead[WIDE_INSTRS];
	uint32_t scalar[WIDE_SCALARS];
	uint8_t scalar_dtype[WIDE_SCALARS];
	uint32_t gone[WIDE_INSTRS];	   /* slots of loads that were saved */
	uint32_t fresh[LIMIT_NEST_INSTRS]; /* of loads that are there once more */
};

/* Where the code of a nest goes: its loops become these loops, its accesses move
 * by these strides. */
struct wide_source {
	const struct nest *nest;
	const uint8_t *loop;		     /* [loop of nest] */
	const int64_t (*stride)[LIMIT_NDIM]; /* [access][loop of the wide nest] */
	uint16_t *value;		     /* [instr]: its number in the wide nest */
};

/* Begin with these loops and no code. */
void wide_begin(struct wide *w, const struct nest *loops, bool forward);
/* Append a section (nest.h) of a source. */
void wide_append(struct wide *w, const struct wide_source *s, unsigned section);
/* What follows is the next section, of at most LIMIT_NEST_SECTIONS. */
void wide_cut(struct wide *w);
/* The section that instruction k stands in, its first instruction, and one past its last. */
static inline unsigned wide_section(const struct wide *w, unsigned k)
{
	unsigned s = 0;

	while (s < w->ncut && k >= w->cut[s])
		s++;
	return s;
}

static inline unsigned wide_first(const struct wide *w, unsigned k)
{
	unsigned s = wide_section(w, k);

	return s ? w->cut[s - 1] : 0;
}

static inline unsigned wide_end(const struct wide *w, unsigned k)
{
	unsigned s = wide_section(w, k);

	return s < w->ncut ? w->cut[s] : w->ninstr;
}

/* Append a whole nest as it is. */
void wide_copy(struct wide *w, const struct nest *n, bool forward);
/* Mark stores that nobody can see: overwritten ones, and those to temporaries
 * that nothing reads any more. */
void wide_drop_stores(struct wide *w, const struct prog *p);
/* Drop dead code and pack the rest into *out; FUSE_OK, or the limit it breaks. */
enum fuse_reason wide_pack(struct nest *out, struct wide *w);
/* Account for the loads that were saved. */
void wide_commit(const struct wide *w, struct prog *p);

#endif
