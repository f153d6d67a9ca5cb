/* SPDX-License-Identifier: Apache-2.0 */
/* trace/trace.h - one client's arrays, their versions, and the ops not yet run.
 *
 * A buffer is storage that views share; a version is the value of a buffer
 * between two writes.  A node is an op that has not run: it makes one version and
 * refers to the versions it reads, so there are no anti- or output dependences.
 * Loop thread only.  Everything here belongs to a struct trace and dies with it,
 * except what a running job holds (version.holds). */
#ifndef BRAZE_TRACE_H
#define BRAZE_TRACE_H

#include "../base/slab.h"
#include "arena.h"
#include "form/grid.h"
#include "ops.h"
#include "share.h"

struct node;
struct mirror; /* run/device.h: copies in devices' memory */

/* Storage of versions, shared by counting (an in-place write makes the new version
 * share its predecessor's).  Its value lies in the arena, on devices, or on both;
 * on neither: it went down with the device, and so did the version. */
struct storage {
	struct extent extent; /* in the arena, once placed; or at the begin of `share` */
	struct share *share;  /* its own memory; NULL: the arena */
	uint64_t bytes;
	uint64_t plan; /* number of the one that wrote it last, 0: none has */
	uint32_t refs;
	uint8_t home; /* enum home: where it is to be placed */
	uint8_t placed;
	uint8_t host;	       /* the value lies in the arena (when its version is stored) */
	uint8_t fetching;      /* it is on its way there */
	uint8_t reads;	       /* a plan whose device was chosen by cost has read this value */
	uint8_t made_on;       /* device, from 1 on, that ran the plan */
	uint8_t fresh;	       /* as far as is known nobody has touched its memory yet */
	uint8_t writer;	       /* device, from 1 on, of jobs in flight that write it ... */
	uint32_t writing;      /* ... and how many they are */
	uint32_t exports;      /* arrays by which it is exported: it stays on its device */
	uint8_t carrying;      /* enum carrying: on its way from one device to another */
	uint8_t by_host;       /* that failed: it goes by way of the host */
	struct mirror *mirror; /* the first of them */
};

enum carrying {
	CARRYING_NOTHING,
	CARRYING_VALUE,
	CARRYING_OLD /* what arrives is the value no more */
};

enum version_state {
	VERSION_PENDING, /* node has not run */
	VERSION_RUNNING, /* in a partition that is being planned or run */
	VERSION_STORED,
	VERSION_FAILED
};

/* Where on the host a value is to lie. */
enum home {
	HOME_ANY,   /* by its size, and as its session can have it */
	HOME_SHARE, /* in memory of its own: it is going to be published */
	HOME_ARENA  /* where its client can write */
};

struct version {
	uint64_t bytes;
	uint32_t refs;		 /* the buffer, nodes that read it, snapshots */
	uint32_t holds;		 /* jobs in flight that touch it */
	uint32_t pins;		 /* snapshots among refs: the storage must not change */
	uint32_t asked;		 /* waits that its value must lie in the arena for */
	uint32_t feeds;		 /* of refs, those from nodes kept to make lost values again */
	uint32_t mark;		 /* demand walk that saw it last */
	uint32_t index;		 /* its number in that walk's partition */
	uint32_t inner;		 /* refs from nodes of that partition */
	uint8_t state;		 /* enum version_state */
	uint8_t home;		 /* enum home, of the storage that is made for it */
	uint32_t named;		 /* buffers and snapshots that can read it by name */
	struct node *node;	 /* pending and running: what makes it; stored: what would
				    make it again (version_store_remote), or NULL */
	struct storage *storage; /* stored */
	struct err *error;	 /* failed: why */
};

struct buffer {
	uint64_t bytes;
	uint32_t refs; /* arrays */
	struct version *current;
};

/* What an id names: a view of a buffer; or, frozen, of one version for good. */
struct array {
	struct buffer *buffer;
	struct version *frozen;
	struct storage *exported; /* frozen: its client has memory of it; NULL */
	struct view view;
};

struct operand {
	struct version *version; /* NULL: the immediate */
	struct view view;	 /* of an immediate: dtype only */
	uint64_t imm[2];	 /* in the loop's dtype already */
};

struct node {
	uint16_t op;
	uint8_t dtype; /* the head's */
	uint8_t nin;
	uint8_t recipe;	 /* it was computed once without being stored */
	uint8_t chain;	 /* demand walk: ops back to stored values, 255: no recipe */
	uint8_t kept;	 /* demand walk: stays pending as (part of) a recipe */
	uint8_t device;	 /* asked for: 0 the session's, 1 by cost, else 2 + its number */
	uint8_t apart;	 /* in no list: kept to make a lost value again */
	uint8_t running; /* in a partition that is planned or run */
	uint32_t axes;
	uint64_t seq; /* place in the trace */
	uint32_t mark;
	struct version *prev; /* ASSIGN to a part: the bytes it leaves alone */
	struct version *out;  /* borrowed: the version owns the node */
	struct node *newer, *older;
	/* Not cleared when a node is made. */
	struct view view;    /* of the version it makes */
	struct operand in[]; /* nin */
};

/* Stored values that lie on a device only and can be made again from arrays that
 * the host has: so many are remembered, the newest. */
#define TRACE_RECIPES 64

/* Sizes of nodes: of each number of operands up to three, then of 8, 16, 32 and 64. */
#define TRACE_NODES 8

/* Counters that operators see. */
struct trace_stats {
	uint64_t ops, dead_ops, arrays;
};

struct trace {
	struct array ***leaf; /* the table of ids, in leaves; NULL where free */
	uint64_t *has_leaf;   /* a bit for each leaf */
	uint32_t nleaf;	      /* no leaf has this index or a higher one */
	uint32_t live_arrays;
	uint32_t npending; /* nodes of versions in state PENDING or RUNNING */
	uint32_t nrunning; /* of them, those in a partition that is planned or run */
	uint64_t seq;
	uint64_t held_bytes; /* stored, unnamed, kept for pending nodes only */
	struct node *oldest, *newest;
	struct slab nodes[TRACE_NODES]; /* by operands: most of a node is theirs */
	struct slab versions, buffers, arrays, storages, leaves;
	struct arena *arena;
	uint64_t quota_bytes;
	void (*bound)(const struct trace *t, char *buf, size_t n); /* whose quota; may be NULL */
	size_t memory;						   /* of all slabs */
	uint32_t mark;
	uint32_t ndevice; /* that there are */
	uint8_t device;	  /* of nodes made now */
	uint8_t home;	  /* enum home, of versions made now by operations */
	bool leaving;	  /* the session is over */
	uint32_t uid;
	struct shares *shares; /* NULL: its values lie in the arena, all of them */
	struct share *spare;   /* memory of freed values */
	uint32_t nexport;      /* arrays that are exported, ... */
	uint64_t export_bytes; /* ... and their bytes */
	uint64_t share_bytes;  /* of all that it made and that is there ... */
	uint64_t spare_bytes;  /* ... and of the spare ones among them */
	uint64_t share_from;   /* values of so many bytes have memory of their own */
	struct trace_stats stats;
	void (*drop_mirror)(struct mirror *m); /* of storage that is freed */
	struct grid_names grids;	       /* loops that operations may name */
	struct version *remote[TRACE_RECIPES];
	uint32_t nremote;
};

void trace_init(struct trace *t, struct arena *arena, uint64_t quota_bytes);
/* Drops every array; versions that jobs hold survive until version_unhold. */
void trace_clear(struct trace *t);
/* A piece of that, short enough for a turn of the loop; true: it is done. */
bool trace_clear_some(struct trace *t);
/* After it, frees all memory, a piece short enough for a turn at a time; true: it is
 * done.  No job holds a version any more. */
bool trace_finish_some(struct trace *t);
/* Both, at once. */
void trace_finish(struct trace *t);
/* An error about the quota, with whose it is at its end. */
enum status trace_over(const struct trace *t, struct err *err);
/* What the records of its arrays and operations count for the owner's quota. */
uint64_t trace_charge(const struct trace *t);
/* So many bytes of records more, which are no array's; E_NOMEM: the quota has no room for them. */
enum status trace_charge_more(struct trace *t, uint64_t bytes, struct err *err) MUST_USE;
/* What its values take, in the arena and beside it. */
uint64_t trace_live(const struct trace *t);

/* NULL when the id names nothing. */
struct array *trace_array(struct trace *t, uint32_t id);
/* The version that reading this array means now. */
struct version *trace_current(const struct array *a);

/* New array `id` on a new buffer whose current version is v (takes the ref). */
enum status trace_define(struct trace *t, uint32_t id, const struct view *view, uint64_t bytes,
			 struct version *v, struct err *err) MUST_USE;
/* New array on a's buffer. */
enum status trace_define_view(struct trace *t, uint32_t id, struct array *a,
			      const struct view *view, struct err *err) MUST_USE;
/* New array that keeps a's current version. */
enum status trace_define_frozen(struct trace *t, uint32_t id, struct array *a,
				struct err *err) MUST_USE;
/* New array that is v for good (takes the ref). */
enum status trace_define_value(struct trace *t, uint32_t id, const struct view *view,
			       struct version *v, struct err *err) MUST_USE;
/* The frozen array's client has memory of its value, until the array is dropped; once for each
 * array. Or it has got none after all. */
void trace_export(struct trace *t, struct array *a);
void trace_export_end(struct trace *t, struct array *a);
enum status trace_drop(struct trace *t, uint32_t id, struct err *err) MUST_USE;
/* The buffer's value becomes v (takes the ref). */
void trace_supersede(struct trace *t, struct buffer *b, struct version *v);

/* New pending node of nin operands (at most LIMIT_OPERANDS), which are the caller's to set. */
struct node *trace_node(struct trace *t, int nin);

/* New version in the given state with one reference. */
struct version *version_create(struct trace *t, uint64_t bytes, enum version_state state);
struct version *version_ref(struct version *v);
/* Is it stored in the arena only, and does nobody have it but its buffer and the one who
 * asks, by a reference of his own? */
bool version_alone(const struct version *v);
void version_unref(struct trace *t, struct version *v);
void version_hold(struct version *v);
void version_unhold(struct trace *t, struct version *v);
/* A pending version's node is taken into a partition; or the version is pending again. */
void version_run(struct trace *t, struct version *v);
void version_wait(struct trace *t, struct version *v);
/* Give the version storage (takes the ref), before it has its value. */
void version_attach(struct trace *t, struct version *v, struct storage *s);
void version_detach(struct trace *t, struct version *v);
/* The attached storage holds the value: stored; its node is released. */
void version_store(struct trace *t, struct version *v);
/* The same for a value that lies on a device only: where it takes a few elementwise
 * operations from arrays that are named and on the host, their nodes are kept, in no
 * list, as long as those arrays keep their names. */
void version_store_remote(struct trace *t, struct version *v);
/* A lost value is pending again, if its nodes were kept. */
bool version_revive(struct trace *t, struct version *v);
/* v has lost its name, or its client is about to write it: nothing is made of it again. */
void version_forget_uses(struct trace *t, const struct version *v);
void version_fail(struct trace *t, struct version *v, const struct err *err);

/* Storage on the host; NULL: E_NOMEM. */
struct storage *storage_create(struct trace *t, uint64_t bytes, enum home home, struct err *err);
/* Storage that lies nowhere yet. */
struct storage *storage_bare(struct trace *t, uint64_t bytes, enum home home);
/* Give it its place on the host if it has none: memory of its own, or the arena where there is
 * none of that. */
enum status storage_place(struct trace *t, struct storage *s, struct err *err) MUST_USE;
/* Was the value lost with a device? */
bool storage_lost(const struct storage *s);
/* Storage of an extent that is the caller's already. */
struct storage *storage_adopt(struct trace *t, const struct extent *e, uint64_t bytes);
/* Storage of what somebody published (takes the ref). */
struct storage *storage_open(struct trace *t, struct share *h);
struct storage *storage_ref(struct storage *s);
void storage_unref(struct trace *t, struct storage *s);

#endif
