/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache.h - kernels by what they compute, in memory and on disk.
 *
 * Loop thread only.  A kernel is found by its target and its canonical nest's text,
 * compared in full.  The processor's can run at once (tier 0 interprets the nest), a
 * GPU's only when it is compiled (cache_want); code, when there is any, comes from the
 * disk or from a compile helper and is announced through `ready`.  One compilation per kernel
 * however many ask (single flight).  Memory is bounded in bytes; kernels that a plan refers to are
 * not evicted. */
#ifndef BRAZE_CACHE_H
#define BRAZE_CACHE_H

#include "form/grid.h"
#include "form/nest.h"
#include "call/call.h"
#include "contract/cuda_abi.h"

struct plan_call;
struct uv_loop_s;

#define CACHE_ERROR_TEXT  1024
#define CACHE_BLAME_TEXT  192
#define CACHE_ORIGIN_TEXT 168
#define KERNEL_STRIKES	  2
#define KERNEL_RATES	  8 /* shapes of which a kernel keeps what their runs took */

enum kernel_state {
	KERNEL_ABSENT,	  /* not compiled, not asked for */
	KERNEL_COMPILING, /* a helper has it, until deadline */
	KERNEL_READY,	  /* code_fd is an object, cubin or PTX */
	KERNEL_FAILED	  /* compiler refused or died twice; tier 0 serves the processor */
};

/* What runs of one shape (nest_shape) have taken, newer ones counting more.  One client's
 * shapes must tell nothing of another's: a short row costs several times a long one. */
struct kernel_rate {
	uint16_t shape;
	uint64_t runs, elements, ns;
};

struct kernel {
	uint32_t id;   /* small number, unique in this daemon's life */
	uint32_t refs; /* plans that use it */
	uint64_t hash;
	uint32_t arch;		/* its code (contract/backend.h); 0: the processor's */
	char *key;		/* the target, if a GPU, and nest_print(spec) */
	struct nest *spec;	/* canonical; empty for a library step and a text */
	const char *text;	/* in key: of a client's kernel in braze's language; else NULL */
	struct call_kind call;	/* of a library step; else of none */
	struct grid_words grid; /* of a loop of a kernel; its text is in key; else NULL */
	uint8_t state;		/* enum kernel_state */
	uint8_t from_disk;	/* code came from the disk cache */
	uint8_t tier;		/* 0 until the worker has confirmed loaded code */
	uint8_t strikes;	/* workers it killed; KERNEL_STRIKES: quarantined */
	int code_fd;		/* read-only sealed memfd; -1 */
	uint64_t code_bytes;
	uint32_t registers, spill_bytes; /* the most of any entry; of GPUs' code */
	/* A GPU's: how its launches are laid out, by entry and size.  What trials found is
	 * on disk, too, and goes to every worker with the code. */
	struct cuda_geometry geometry[CUDA_GEOMETRIES];
	uint32_t ngeometry;
	uint8_t untried; /* no trials: one ended a worker */
	uint64_t compile_ns, runs, elements, busy_ns;
	/* Of the code it runs now: what is expected of the next run of each shape, the one
	 * that was run last first. */
	struct kernel_rate rate[KERNEL_RATES];
	uint8_t nrate;
	uint64_t first_session; /* origin */
	uint64_t payer;		/* whose time of compilers it takes, if paid; by the owner */
	uint32_t payer_uid;
	bool paid, unpaid;		/* unpaid: that one had none left */
	char origin[CACHE_ORIGIN_TEXT]; /* its name, and where in its program it asked */
	char blame[CACHE_BLAME_TEXT];	/* the last strike: what ran it, for whom, when */
	char error[CACHE_ERROR_TEXT];
};

struct cache_stats {
	uint64_t hits, misses, evictions, bytes, compiles, compile_failures, compile_ns;
	uint64_t disk_hits, disk_misses, disk_writes, disk_errors, kernels, helper_deaths;
	uint64_t disk_work; /* files being read and written, whose descriptors come and go */
	uint64_t codes;	    /* kernels with code, each of which holds a descriptor */
	uint64_t quarantined;
	uint64_t helper_fds; /* descriptors of compile helpers */
};

struct cache_config {
	const char *dir;       /* NULL: no disk cache */
	const char *compiler;  /* NULL: gcc, else clang, else none */
	uint64_t memory_bytes; /* bound on code and nests */
	uint64_t disk_bytes;   /* bound on the folder */
	int tier;	       /* -1 by measured worth; 0 never compile; 1 always compile: of the
				  processor's kernels, a GPU's are always compiled */
	const char *self;      /* path of this executable, to start helpers */
};

struct cache;
/* Code of *k is there (or compilation failed): tell the workers. */
typedef void cache_ready_fn(void *data, struct kernel *k);

enum status cache_create(struct cache **out, struct uv_loop_s *loop, const struct cache_config *c,
			 cache_ready_fn *ready, void *data, struct err *err) MUST_USE;
void cache_destroy(struct cache *c);
/* The kernel for this canonical nest on this target (struct kernel's arch), made if
 * new; counted as used by the caller until cache_unref. */
struct kernel *cache_get(struct cache *c, const struct nest *spec, uint32_t arch, uint64_t session);
/* A library step's, counted likewise.  The processor's is of one shape and layout; it has no
 * code: it is there to be measured, and blamed.  A GPU's with code is of one element type
 * (emit/emit.h). */
struct kernel *cache_get_call(struct cache *c, const struct plan_call *call, uint32_t arch,
			      uint64_t session);
/* A GPU's of a loop of a kernel, whose code it is alone: call tells only what kind of step it is.
 */
struct kernel *cache_get_grid(struct cache *c, const struct plan_call *call,
			      const struct grid *grid, uint32_t arch, uint64_t session);
/* Of a text, checked before, that clients run themselves; no worker knows it. */
struct kernel *cache_get_text(struct cache *c, const char *text, uint64_t session);
/* Is there something to compile?  Some library steps are the worker's. */
bool cache_has_code(const struct kernel *k);
/* Compile it now, unless it is compiled or failed lately.  Returns its state; where
 * that is KERNEL_COMPILING, `ready` follows. */
enum kernel_state cache_want(struct cache *c, struct kernel *k);
/* Is its code most likely on disk and on its way from there?  For CACHE_COMES_MS at most; `ready`
 * follows, also where it was not there. */
#define CACHE_COMES_MS 5
bool cache_comes(const struct cache *c, struct kernel *k);
void cache_unref(struct cache *c, struct kernel *k);
/* A run of `elements` points is about to be, or was, done (busy_ns > 0): decides
 * whether compiling is worth while. */
void cache_note_run(struct cache *c, struct kernel *k, uint64_t elements, uint64_t busy_ns);
/* Jobs run from now on, or none does any more: see comes_late. */
void cache_hold(struct cache *c, bool on);
/* A worker has this geometry for it: kept with it, on disk if it is one of trials. */
void cache_note_geometry(struct cache *c, struct kernel *k, const struct cuda_geometry *g);
/* A run of this shape that did nothing else took so long. */
void cache_note_rate(struct kernel *k, uint16_t shape, uint64_t elements, uint64_t busy_ns);
/* What runs of this shape have taken; NULL: none was measured. */
const struct kernel_rate *cache_rate(const struct kernel *k, uint16_t shape);
/* The worker could not load the code, or died of it in a way that blames the code
 * (SIGILL): forget it here and on disk, tier 0 serves from now on. */
void cache_refuse(struct cache *c, struct kernel *k, const char *why);
/* Its code was loaded: what was measured before is of other code. */
void cache_note_loaded(struct cache *c, struct kernel *k);
/* A worker died while it ran it: `what` tells where and for whom. */
void cache_blame(struct cache *c, struct kernel *k, const char *what);
void cache_get_stats(const struct cache *c, struct cache_stats *out);
/* Calls fn for every kernel, most recently used first. */
void cache_each(struct cache *c, void (*fn)(void *data, const struct kernel *k), void *data);
struct kernel *cache_find(struct cache *c, uint32_t id);
/* Called when an evicted kernel must leave the workers. */
void cache_on_drop(struct cache *c, void (*fn)(void *data, uint32_t id));
/* Before a kernel is compiled `may` is asked, and tells why not; `spent` hears how long its
 * compiler took. */
void cache_on_compile(struct cache *c,
		      bool (*may)(void *data, const struct kernel *k, char *why, size_t n),
		      void (*spent)(void *data, const struct kernel *k, uint64_t ns));
/* An unpaid kernel has another payer: its next use may have it compiled. */
void cache_paid(struct kernel *k);
/* Code of kernels that nobody else than this session has asked for first, and that no plan refers
 * to, leaves the memory; bytes. */
uint64_t cache_evict(struct cache *c, uint64_t session);
/* Other bounds from now on; what is over them goes as new kernels come. */
void cache_bound(struct cache *c, uint64_t memory_bytes, uint64_t disk_bytes);
/* Delete the disk cache's files. */
enum status cache_clear_disk(struct cache *c, struct err *err) MUST_USE;

/* Entry point of a helper process (`brazed --compile-helper FD`): serves requests
 * on the socket until it closes. */
int compile_helper_main(int fd);

#endif
