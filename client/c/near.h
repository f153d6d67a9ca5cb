/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/near.h - what is at hand and small is computed in the recording call.
 *
 * A value is at hand when this process can read its present bytes without asking
 * (near_hand).  An operation whose operands all are and which is small (near_fits) is
 * computed at once, by the interpreter's own loops (kernels/loops), so to the bit as the
 * daemon would; its result is a buffer apart (apart.h) in a block of ours.  All others are
 * recorded.
 *
 * The prediction is a function of the operations, the types and the counts alone, so a
 * program takes the same way in each run. */
#ifndef BRAZE_NEAR_H
#define BRAZE_NEAR_H

#include "client.h"
#include "loops/loops.h"
#include "loops/tile.h"

#define NEAR_BYTES  (256u << 10)
#define NEAR_WORK   250000     /* tenths of a nanosecond */
#define NEAR_WIDE   (8u << 20) /* bytes, while the bound is risen */
#define NEAR_ALONE  100000     /* work that is never worth a second thread, */
#define NEAR_SHARE  200000     /* and that counts as shared by all that the process has */
#define NEAR_HEAVY  30	    /* tenths of a ns an element: what takes less is shared by its bytes */
#define NEAR_TRIP   1600000 /* work that a trip to the daemon is worth */
#define NEAR_LONG   (4 * NEAR_TRIP) /* that no stretch makes up for */
#define NEAR_SHIP   2		    /* of shipping a byte */
#define NEAR_STORE  4		    /* bytes that are stored for a unit of work */
#define NEAR_FAR    25000	    /* of recording an operation, here and at the daemon */
#define NEAR_AWAIT  (16u << 20)	    /* bytes of a buffer that is waited for unasked, at most */
#define NEAR_OFTEN  16	       /* log2 of how much longer the next such wait is put off, at most */
#define NEAR_GRANT  (1u << 20) /* bytes; of more, fresh pages cost what shipping saves */
#define NEAR_SPARE  (4 * NEAR_TRIP) /* saved so, at most */
#define NEAR_CALM   4		    /* stretches before the bound rises, at first */
#define NEAR_STEADY 16		    /* and when it has proved right for so many, again */
#define NEAR_WARY   32 /* and at most: by then a fall costs less than a stretch's trip */
#define NEAR_NEVER  (UINT64_MAX / 4) /* as work: sums of it are no less */
#define NEAR_POINT  600		     /* as work, of each point of a reduction */
#define NEAR_MOVED  3		     /* of an element that is read and stored */
#define NEAR_READ   2		     /* of one that is read */
/* Bytes of what is read from which on threads share reductions and products, and of a result, maps
 * and copies.  A line that one core has read or written takes another 11 ns to write as long as it
 * lies in the first one's caches: what half of an array gains where some loops over it are shared
 * and others are not is less.  So results are shared that are larger than those. */
#define NEAR_FETCHED (1 << 20)
#define NEAR_SPREAD  (4 << 20)
#define NEAR_BLOCK   512 /* elements of a register */
#define NEAR_REG     (NEAR_BLOCK * 16)
/* A processor takes what it loads for what an earlier store writes where their addresses agree in
 * the bits below a page, and waits.  A result that begins just behind its operand, but for pages,
 * would have each vector wait so: large blocks begin where pages do, as large arrays in the arena,
 * those of a page and more lie so many bytes apart. */
#define NEAR_PAGE    4096
#define NEAR_APART   832
#define NEAR_EVEN    (32u << 10)
#define NEAR_LEAST   8	/* log2 of the smallest block */
#define NEAR_CLASSES 17 /* up to 16 MiB: what lies in a block has room behind it, */
#define NEAR_MOST    ((16u << 20) - NEAR_PAGE) /* so that a value has so many bytes at most */
#define NEAR_POOL    (48u << 20)	       /* free bytes kept: two of the largest and others */
#define NEAR_CHUNK   (4u << 20)		       /* what blocks are cut from, */
#define NEAR_CHUNKS  2			       /* so often at most */
#define NEAR_HUGE    (2u << 20)		       /* bytes of a huge page */
#define NEAR_RUN     16		/* small writes to a pending array before it is fenced */
#define NEAR_TOUCH   UINT32_MAX /* near_run(): BUF_TOUCHED */
#define NEAR_GIVEN   255	/* the size of a block whose memory is another's (loan.h) */

/* Memory of near values; the bytes follow.  Snapshots share it with what they are of. */
struct near_block {
	struct near_block *next; /* in a free list */
	uint32_t refs;		 /* buffers */
	uint32_t size;		 /* class: log2 of its bytes, from NEAR_LEAST; or NEAR_GIVEN */
	uint64_t room;		 /* bytes that may be read */
	bool cut;		 /* from a chunk, which it goes with */
} __attribute__((aligned(64)));

/* The operations between two reads.  One that only its size keeps from being near is
 * passed over; what waits for it could have been near as well.  Where stretch after stretch a trip
 * costs more than the work that it would save, the bound rises: then what fits into the rest of the
 * stretch's NEAR_TRIP is near.  Of the largest operation half counts: it would take the daemon's
 * threads as long. It falls as soon as a stretch is longer, or something of it went far
 * all the same; each fall doubles the stretches that the next rise waits for, up to NEAR_WARY. */
struct near_stretch {
	uint64_t work;	  /* of what was near */
	uint64_t largest; /* work of one operation that was near for the risen bound's sake */
	uint64_t passed;  /* the largest work passed over; 0: none was */
	uint64_t
		told; /* of what was passed over, and of what waited for it as far as it is known */
	uint32_t ntold; /* operations of it */
	uint32_t parts; /* recorded next, of an operation in place that has been told as a whole */
	uint64_t far;	/* operations recorded and sent */
	uint64_t ahead; /* those that only a question for memory took along: not counted yet */
	/* What recording small operations took more than they would have taken here; and how often
	 * their operands were waited for because that was more than a trip (near_write.c). */
	uint64_t lost;
	uint32_t hurried;
	uint32_t calm, need;
	uint32_t most;	  /* bytes of a result while the bound is risen */
	bool risen, used; /* the bound; something was near for its sake */
	bool asking;	  /* for memory */
};

/* What the session needs to compute. */
struct near {
	struct near_stretch stretch;
	/* Large values that others made in our memory (near_grant) go on here until the work with
	 * them has taken as long as shipping them would. */
	uint64_t spare;
	const struct loops_library *lib;
	uint32_t cost[OP_END][DTYPE_ROOM]; /* an element, in tenths of a ns; 0: has no loop */
	struct near_scratch *scratch;
	struct near_block *free[NEAR_CLASSES];
	size_t kept; /* bytes in the free lists */
	struct near_chunk {
		void *map;
		char *at; /* NEAR_CHUNK bytes, at a multiple of NEAR_HUGE; NULL: none */
	} chunk[NEAR_CHUNKS];
	unsigned nchunk;
	size_t used; /* of the last one */
};

/* Registers, at multiples of 64. */
struct near_scratch {
	char raw[3][NEAR_REG], cast[3][NEAR_REG], out[NEAR_REG];
	char state[2][TIER0_STATE_BYTES];
	char tile[TILE_BYTES];
	char strip[PRODUCT_SCRATCH] __attribute__((aligned(64)));
};

/* An operand as the drivers see it. */
struct near_in {
	const char *at;	       /* element [0,...,0] */
	const int64_t *stride; /* of the domain's axes; NULL: C-contiguous */
	int64_t reach;	       /* elements that may be read from `at` on, if contiguous */
	uint8_t dtype, loop;   /* loop: the type it is cast to */
	bool fixed;	       /* the same element everywhere */
};

/* ---- near.c: switching, blocks ---- */

/* Compute near from now on, or not: asked whenever what decides it changes. */
void near_switch(struct braze_session *s);
/* What every session of the process has alike, the loops, and pages for its first values; any
 * thread. */
void near_begin(void);
/* The session is connected; make what near operations need, if they are possible. */
void near_open(struct braze_session *s);
void near_close(struct braze_session *s);
/* Another block of the class; NULL: no memory. */
struct near_block *near_new_block(struct near *n, unsigned size);
/* More free bytes than are kept: free blocks of other sizes are given up for a block, or it is;
 * false: it can be kept. */
bool near_dropped(struct near *n, struct near_block *block) MUST_USE;
/* b is about to be written: it gets a block of its own.  False: no memory. */
bool near_own(struct braze_session *s, struct buffer *b) MUST_USE;
/* An operation is large: is it near all the same? */
bool near_stretches(struct near_stretch *t, uint64_t work, uint64_t bytes) MUST_USE;
/* The program reads a value. */
void near_stretch_end(struct near_stretch *t);
/* Recorded operations leave: the heads of their columns. */
void near_sent(struct near_stretch *t, const uint32_t *head, unsigned nops);
/* A near array to be filled; NULL: too large, or no memory. */
struct braze_array *near_array(struct braze_session *s, enum dtype d, const struct shape *shape,
			       int64_t count);

/* ---- near_load.c ---- */

/* The loops of this machine; NULL: there are none of this build. */
const struct loops_library *near_library(void);

/* ---- near_map.c, near_reduce.c: the drivers ---- */

/* out[...] = op(in...), of `count` operands, over the shape's `total` points; out is
 * C-contiguous and has room for whole vectors. */
void near_map(const struct near *n, enum op op, char *out, unsigned dtype,
	      const struct shape *shape, int64_t total, int count, const struct near_in *in);
/* The elements of the view at `to` become op(they, x), whose result has their type:
 * nothing beyond them is written.  x is the very view, or shares no memory with it. */
void near_update(const struct near *n, enum op op, char *to, const struct view *v, int64_t count,
		 const struct near_in *x);
/* The domain's elements of `in`, cast to its loop type, stored to the view at `to`:
 * nothing beyond its elements is written. */
void near_store(const struct near *n, char *to, const struct view *v, int64_t count,
		const struct near_in *in);
/* The tree that reduces elements of a type. */
const struct tier0_red *near_tree(const struct near *n, enum op op, unsigned dtype);
/* out[...]: the reduction of `in` over the axes of the mask. */
void near_reduction(const struct near *n, enum op op, char *out, unsigned dtype,
		    const struct shape *shape, uint32_t axes, const struct near_in *in);

/* ---- near_share.c ---- */

/* Elements [lo, hi) of a loop. */
typedef void near_part_fn(void *data, int64_t lo, int64_t hi);
/* fn for all of [0, n), cut at multiples of `grain`, in any order, by several threads where the
 * work is worth it. */
void near_share(near_part_fn *fn, void *data, int64_t n, int64_t grain, uint64_t work);
/* The predicted work of a loop that near_share() does, as the time of one thread that it takes. */
uint64_t near_shared(uint64_t work);
/* The same of one that stores so many bytes. */
static inline uint64_t near_shared_bytes(uint64_t work, uint64_t bytes)
{
	return likely(bytes < NEAR_SPREAD) ? work : near_shared(work);
}

/* ---- near_calls.c: operations; true: done ---- */

bool near_apply(struct braze_array **out, struct braze_session *s, enum op op,
		const struct op_sig *sig, int n, const braze_arg *arg, const struct shape *shape);
/* Operands of one shape and type, which go to this loop; b NULL: one operand. */
bool near_quick(struct braze_array **out, unsigned op, unsigned loop, unsigned type,
		struct braze_array *a, struct braze_array *b);
/* The same of one array and a weak number that gives way to it, in either order. */
bool near_with_number(struct braze_array **out, int op, unsigned type, const braze_arg *args);
bool near_reduce(struct braze_array **out, enum op op, const struct op_sig *sig,
		 struct braze_array *a, uint32_t axes, const struct shape *shape);
/* near_along.c */
bool near_scan(struct braze_array **out, enum op op, enum dtype type, struct braze_array *a,
	       int axis);
bool near_sort(struct braze_array **out, enum op op, enum dtype type, struct braze_array *a,
	       int axis);
/* a's elements in order, where they lie. */
bool near_sort_self(struct braze_array *a, int axis);
bool near_cast(struct braze_array **out, struct braze_array *a, enum dtype to);
/* Mantissas, and exponents as int32. */
bool near_parts(struct braze_array *out[2], struct braze_array *a);
bool near_create(struct braze_array **out, struct braze_session *s, enum op op, int dtype,
		 const struct shape *shape, const braze_scalar *value);
/* The number in a near 0-d array, which travels as an operand. */
bool near_number(braze_scalar *out, const struct braze_array *a);

/* A reduction or scan of what lies in a block: to ship that costs as much as to read it once.  Its
 * predicted work, and how much that may be. */
bool near_reads_once(struct near *n, const struct braze_array *a, uint64_t work, uint64_t most);
/* The predicted work of a loop over `count` elements, and their bytes; NEAR_NEVER: too much. */
uint64_t near_work(const struct near *n, unsigned op, unsigned loop, int64_t count);
uint64_t near_bytes(unsigned dtype, int64_t count);
/* The predicted work, of NEAR_SHARE and more, of a loop over `count` elements of n operands: of
 * what threads will share (near_map.c) their part. */
uint64_t near_large_work(const struct near *near, enum op op, uint64_t work,
			 const struct op_sig *sig, int n, const braze_arg *arg, int64_t count);
/* Do threads share a loop over so many elements, if it is worth waking them? */
static inline bool near_gains(const struct near *n, unsigned op, unsigned loop, int64_t count)
{
	return n->cost[op][loop] >= NEAR_HEAVY || count >= NEAR_SPREAD / dtype_rows[loop].bytes;
}
/* Operands for the drivers: an array over a domain of this many elements, `stretch` having
 * room for its strides there; and a number, whose bits are put into `raw`. */
bool near_set_array(struct near_in *in, const struct braze_array *a, unsigned loop,
		    const struct shape *shape, int64_t count, struct view *stretch) MUST_USE;
void near_set_number(struct near_in *in, uint64_t raw[2], const braze_scalar *v, unsigned loop);

/* ---- near_write.c ---- */

/* dst[...] = src now; false: it is to be recorded. */
bool near_assign(struct braze_array *dst, const braze_arg *src);
/* dst's elements are about to be written where they lie; false: they may not be. */
bool near_write_in(struct braze_array *dst);
/* dst = op(dst, x) now, of one type, where dst lies; false: nothing was done. */
bool near_in_place(struct braze_array *dst, enum op op, const braze_arg *x);
/* Before near_assign: where small writes were recorded on dst or src, fence them if that
 * is worth it.  May let go of the recorder lock meanwhile, in which another thread may
 * switch: ask s->near afterwards, here and for the next two. */
enum status near_prepare(struct braze_array *dst, struct braze_array *src,
			 struct err *err) MUST_USE;
/* Around the recording of dst[...] = src: how many small writes in a row that makes, or
 * NEAR_TOUCH; 0: it is none.  To be asked before dst is used. */
uint32_t near_run(const struct braze_array *dst, const struct braze_array *src);
void near_recorded(struct buffer *b, uint32_t run);
/* Has recording small operations cost more than it would have to wait for their operands? */
static inline bool near_impatient(const struct near_stretch *t)
{
	return t->lost > (uint64_t)NEAR_TRIP << t->hurried;
}

/* An operation is about to read these: where one is BUF_TOUCHED, all are at hand but for
 * that, and it is cheap, fence them; where near_impatient, wait for them if it is.  May let go
 * of the recorder lock meanwhile. */
enum status near_settle(struct braze_session *s, unsigned op, unsigned loop, int64_t count, int n,
			struct braze_array *const *a, struct err *err) MUST_USE;

/* The same of one or two operands; b: NULL for none. */
enum status near_settle_two(unsigned op, unsigned loop, int64_t count, struct braze_array *a,
			    struct braze_array *b, struct err *err) MUST_USE;
/* Are these of a kind that near_settle looks at? */
static inline bool near_unsettled(const struct braze_session *s, uint32_t flags)
{
	return s->near && (flags & BUF_TOUCHED || near_impatient(&s->near->stretch));
}

static inline enum status near_ready(unsigned op, unsigned loop, int64_t count,
				     struct braze_array *a, struct braze_array *b, struct err *err)
{
	uint32_t flags = a->buf->flags | (b ? b->buf->flags : 0);

	if (likely(!near_unsettled(a->session, flags)))
		return OK;
	return near_settle_two(op, loop, count, a, b, err);
}

/* The same of two, by the predicted work and the result's bytes. */
enum status near_settle_work(struct braze_array *a, struct braze_array *b, uint64_t work,
			     uint64_t bytes, struct err *err) MUST_USE;

/* ---- near_gather.c ---- */

struct places;
/* Elements at the places, as braze_gather's mode has them, in a result of this shape; true: done.
 * here: of up to a million elements whatever that takes; else nothing is told of it, which others
 * are about to be asked for. */
bool near_gather(struct braze_array **out, const struct places *p, const struct shape *shape,
		 int64_t count, int mode, bool here);

/* ---- near_product.c ---- */

/* near_ready for the product of two arrays, of the type. */
enum status near_product_ready(struct braze_array *a, struct braze_array *b, enum dtype type,
			       const struct shape *shape, struct err *err) MUST_USE;
/* The product of two arrays, of the type; true: done. */
bool near_product(struct braze_array **out, struct braze_array *a, struct braze_array *b,
		  enum dtype type, const struct shape *shape);

static inline bool near_hand(const struct braze_array *a)
{
	const struct buffer *b = a->buf;

	return atomic_load_explicit(&b->stored, memory_order_acquire) == b->version;
}

/* Is an operation small whose predicted work and result's bytes are these? */
static inline bool near_fits(struct near *n, uint64_t work, uint64_t bytes)
{
	struct near_stretch *t = &n->stretch;

	if (unlikely(work > NEAR_WORK || bytes > NEAR_BYTES))
		return bytes <= NEAR_WIDE && near_stretches(t, work, bytes);
	t->work += work;
	return true;
}

/* An operation is recorded whose work is known. */
static inline void near_told(struct near_stretch *t, uint64_t work)
{
	t->told += work <= NEAR_LONG ? work : NEAR_LONG;
	t->ntold++;
}

/* Has the work of what is recorded been told already? */
static inline bool near_was_told(struct near_stretch *t)
{
	if (likely(!t->parts))
		return false;
	t->parts--;
	t->ntold++;
	return true;
}

/* An operation is recorded that would take so much work here. */
static inline void near_tell(struct near_stretch *t, uint64_t work)
{
	uint64_t gain = work / 2; /* the daemon has threads, and fuses */

	if (near_was_told(t))
		return;
	near_told(t, work);
	if (gain <= NEAR_FAR)
		t->lost += NEAR_FAR - gain;
	else
		t->lost -= gain - NEAR_FAR < t->lost ? gain - NEAR_FAR : t->lost;
}

/* The same of a loop, as it waits for an operand; false. */
static inline bool near_waits(struct near *n, unsigned op, unsigned loop, int64_t count)
{
	near_tell(&n->stretch, near_work(n, op, loop, count));
	return false;
}

/* An operation is recorded that is never near, of so many elements, and `made` is its result:
 * recording it lost nothing. */
static inline void near_never(struct braze_array *made, unsigned op, int64_t count)
{
	uint64_t cost = NEAR_MOVED + (uint64_t)op_row(op)->cost;

	made->buf->why = WHY_KIND;
	if (near_was_told(&made->session->near->stretch))
		return;
	near_told(&made->session->near->stretch,
		  (uint64_t)count <= NEAR_TRIP ? cost * (uint64_t)count : NEAR_NEVER);
}

/* A value of so many bytes was made in our memory, by nobody's choice. */
static inline void near_grant(struct near *n, uint64_t bytes)
{
	if (bytes > NEAR_BYTES && bytes <= NEAR_GRANT)
		n->spare += NEAR_SHIP * bytes;
	if (n->spare > NEAR_SPARE)
		n->spare = NEAR_SPARE;
}

/* Is it near for the sake of this operand, which would have to be shipped? */
static inline bool near_spares(struct near *n, const struct braze_array *a, uint64_t work,
			       uint64_t bytes)
{
	const struct buffer *b = a->buf;

	if (likely(b->bytes <= NEAR_BYTES) || !(b->flags & BUF_NEAR) || bytes > NEAR_GRANT ||
	    work > n->spare)
		return false;
	n->spare -= work;
	return true;
}

/* The op is left to the daemon, because; false. */
static inline bool near_not(struct braze_session *s, enum why why)
{
	s->why = (uint8_t)why;
	return false;
}

static inline void near_read(struct near *n)
{
	if (n && (n->stretch.work || n->stretch.passed || n->stretch.far))
		near_stretch_end(&n->stretch);
}

#endif
