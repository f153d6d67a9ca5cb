/* SPDX-License-Identifier: Apache-2.0 */
/* worker/kernels.h - the kernels a worker can run, by id.
 *
 * A kernel arrives as a canonical nest and is interpreted (tier 0) until its
 * object code has been loaded (tier 1).  Both have the semantics of kernel_abi.h
 * and give the same bits, so they may change places between two slices.  Command
 * thread changes the table; any thread may call an entry. */
#ifndef BRAZE_KERNELS_H
#define BRAZE_KERNELS_H

#include "loops/kernel_abi.h"
#include "form/nest.h"
#include "take_nest.h"

/* Entry points of loaded object code; unused ones are NULL. */
struct kernel_code {
	bz_map_fn *map;
	bz_reduce_fn *reduce;
	bz_finish_fn *finish;
	void *handle;
};

/* The two tiers as the worker calls them; tests put C functions here. */
struct kernel_ops {
	enum status (*check)(const struct nest *spec, struct err *err); /* may be NULL */
	/* What the next three need besides the nest; free() it.  May be NULL. */
	void *(*prepare)(const struct nest *spec);
	void (*map)(const struct nest *spec, const void *prepared, const struct bz_args *a,
		    int64_t lo, int64_t hi, void *scratch);
	void (*reduce)(const struct nest *spec, const void *prepared, const struct bz_args *a,
		       int64_t lo, int64_t hi, int64_t clo, int64_t chi, struct bz_acc *part,
		       void *scratch);
	void (*finish)(const struct nest *spec, const void *prepared, const struct bz_args *a,
		       int64_t lo, int64_t hi, const struct bz_acc *part, void *scratch);
	/* Does the interpreter make these sums sooner than code?  May be NULL: never. */
	bool (*quicker)(const struct nest *spec, const void *prepared, const struct bz_args *a);
	size_t (*scratch)(const struct nest *spec); /* bytes each thread needs */
	enum status (*load)(struct kernel_code *out, int fd, const struct nest *spec,
			    struct err *err);
	void (*unload)(struct kernel_code *code);
};

/* What a point of one shape takes a thread. */
#define KERNEL_PACES 8
struct kernel_pace {
	uint16_t shape;
	double point_ns;
};

struct kernel_entry {
	uint32_t id;
	const struct kernel_ops *ops;
	struct nest *spec;
	void *prepared;		 /* for the interpreter */
	struct kernel_code code; /* handle NULL: interpreted */
	uint32_t nreduce;	 /* NI_REDUCE instructions */
	uint32_t checks;	 /* OP_INDEX instructions */
	size_t scratch;
	struct take_nest take; /* what needs neither tier */
	double guess_ns;       /* one point on one thread, by the table of operations */
	/* Measured, of each shape (nest_shape); the one that was run last first. */
	struct kernel_pace pace[KERNEL_PACES];
	uint32_t npace;
};

struct kernels {
	const struct kernel_ops *ops;
	struct kernel_entry **item; /* by rising id */
	uint32_t count, cap;
};

void kernels_init(struct kernels *k, const struct kernel_ops *ops);
void kernels_finish(struct kernels *k);
/* `bytes` of a nest as it came in a packet: a copy, its counts checked; free it. */
enum status kernels_spec(struct nest **out, uint32_t id, const void *nest, size_t bytes,
			 struct err *err) MUST_USE;
/* `bytes` of a nest as it came in a packet; checked and copied. */
enum status kernels_add(struct kernels *k, uint32_t id, const void *nest, size_t bytes,
			struct err *err) MUST_USE;
/* Use the object in fd (which stays the caller's) from now on. */
enum status kernels_load(struct kernels *k, uint32_t id, int fd, struct err *err) MUST_USE;
void kernels_drop(struct kernels *k, uint32_t id);
struct kernel_entry *kernels_find(const struct kernels *k, uint32_t id);

/* Nanoseconds of a point of this shape: measured, else guessed; and a new measurement. */
double kernels_pace(const struct kernel_entry *e, uint16_t shape);
void kernels_learn(struct kernel_entry *e, uint16_t shape, double point_ns);

/* How many points a reduction goes through at once, where it does not by itself. */
int64_t kernels_together(const struct kernel_entry *e, const struct bz_args *a);

void kernels_map(const struct kernel_entry *e, const struct bz_args *a, int64_t lo, int64_t hi,
		 void *scratch);
void kernels_reduce(const struct kernel_entry *e, const struct bz_args *a, int64_t lo, int64_t hi,
		    int64_t clo, int64_t chi, struct bz_acc *part, void *scratch);
void kernels_combine(const struct kernel_entry *e, const struct bz_args *a, int64_t lo, int64_t hi,
		     const struct bz_acc *part, void *scratch);

#endif
