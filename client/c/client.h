/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/client.h - what a session, an array and a future are inside libbraze.
 *
 * Two locks.  The recorder lock (lock.h; or the owner's, braze_fast.h) guards
 * everything but what is marked S; it is held while a packet is sent, so that
 * packets leave in the order of their sequence numbers.  The mutex `sock` guards
 * the fields marked S: who reads the socket, and the tickets that await answers.
 * Order: recorder lock, then sock.  Nobody waits for an answer with the recorder
 * lock held. */
#ifndef BRAZE_CLIENT_H
#define BRAZE_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "braze.h"
#include "braze_fast.h"
#include "ops.h"
#include "packet.h"
#include "spin.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Bytes of columns in one packet; the rest holds a demand and the framing. */
#define RECORD_BYTES (LIMIT_PACKET_BYTES - 4096)
#define MINOR_WHERE  1	  /* of the protocol: a demand says where it comes from */
#define MINOR_ALSO   3	  /* and names arrays that it does not wait for */
#define MINOR_TELLS  4	  /* explanations; the count of near operations */
#define MINOR_CODE   5	  /* compiled code of kernels' texts */
#define MINOR_ABOUT  6	  /* who the client is */
#define MINOR_EXPORT 10	  /* memory of devices for others in this process */
#define MINOR_OFFER  11	  /* what a device has besides */
#define MINOR_SPENT  9	  /* answers say what was spent */
#define DTYPE_NONE   255u /* in an op's head: no type wanted */
#define WRITTEN	     256  /* results of recorded ops that are remembered */
#define REGIONS_KEPT 4
#define WAIT_SLICE   50		/* ms between two looks at signals and the check */
#define WAIT_CANCEL  150	/* ms to wait for the answer to a Cancel */
#define IMM_OPERAND  (1u << 31) /* an `in` word that announces an immediate */
#define IMM_WEAK     (1u << 8)

enum buffer_flags {
	BUF_HOST = 1,	    /* this process may write it: the next use carries DIRTY */
	BUF_FRESH = 2,	    /* nothing but this process has a use of it: a fence needs no answer */
	BUF_FENCING = 4,    /* a fence is under way and nothing used the buffer since */
	BUF_READONLY = 8,   /* a snapshot */
	BUF_APART = 16,	    /* no daemon knows it, it is shipped at its first use (apart.h) */
	BUF_LOSING = 32,    /* about to become so */
	BUF_NEAR = 64,	    /* and apart: in a block of ours, written in place (near.h) */
	BUF_VIEWS = 128,    /* it has handles that the daemon has no name of */
	BUF_ROOT = 256,	    /* `root` is no handle's any more */
	BUF_ASKED = 512,    /* a demand, `asked`, named it, and nothing used it since */
	BUF_MADE = 1024,    /* pending, but only a creation */
	BUF_TOUCHED = 2048, /* pending: stored or made, and small writes since */
	BUF_RUN = 4096,	    /* pending, and `run` small writes were recorded in a row */
	BUF_REGION = 8192,  /* version `kept` lies beside the arena: in `map`, at `at` (region.h) */
	BUF_LOOPS = 16384   /* `uses` and `there` are known */
};
/* What the next use ends. */
#define BUF_ENDS (BUF_HOST | BUF_FRESH | BUF_FENCING | BUF_ASKED | BUF_MADE | BUF_TOUCHED | BUF_RUN)
/* Any use must look closer. */
#define BUF_WATCH (BUF_ENDS | BUF_APART | BUF_VIEWS)

/* Where a buffer's last value was made, and from PENDING on why not in the call: for people
 * (explain.c). */
#define WHY_TEXTS(X)                                                                               \
	X(NEAR, "near: made in this process, in the call itself")                                  \
	X(HOST, "data of this process, in memory that it shares with the daemon")                  \
	X(OPENED, "another session's, who published it")                                           \
	X(PENDING, "an operand was not at hand in this process")                                   \
	X(LARGE, "its work or its result is more than one call may take")                          \
	X(SHARED, "something else may read the memory that was written")                           \
	X(KIND, "only the daemon does this operation, or does it with this type")                  \
	X(OFF, "BRAZE_NEAR=0 is set")                                                              \
	X(LOOPS, "the daemon computes with other loops than this process has")                     \
	X(MODE, "the session is eager, unfused or watches floating-point errors")                  \
	X(DEVICE, "the session names a device")                                                    \
	X(OWN, "its result is to have memory of its own, to be published")                         \
	X(MEMORY, "there is no memory for what that takes")
enum why {
#define X(id, text) WHY_##id,
	WHY_TEXTS(X)
#undef X
};

/* Arena memory that is mapped as long as somebody may have an address in it. */
struct mapping {
	uint8_t *base;
	uint64_t bytes, dropped; /* dropped: with buffers, since the last trim */
	uint32_t region;	 /* its number: of a single value, to be read only; 0: an arena */
	_Atomic uint64_t refs;
};

/* Storage shared by views.  The pair (version, stored) is the state machine:
 * stored == version means the present value lies at the extent. */
struct buffer {
	struct buffer *next;	 /* in the free list */
	uint32_t refs;		 /* arrays and tickets */
	uint32_t flags;		 /* enum buffer_flags */
	uint64_t version;	 /* rises with every recorded write; from 1 */
	_Atomic uint64_t stored; /* S to write: version at the extent, 0 for none */
	_Atomic uint64_t offset; /* S to write: of the extent in the arena */
	uint64_t bytes;
	uint32_t root;	     /* BUF_VIEWS: a name that the daemon has it by, ... */
	uint32_t unnamed;    /* ... and how many handles have none */
	uint32_t run;	     /* BUF_RUN */
	uint8_t why;	     /* enum why */
	uint8_t uses;	     /* BUF_LOOPS: by loops that might have been a GPU's (kernel_place.c) */
	uint64_t there;	     /* BUF_LOOPS: version that a loop on a GPU has read or left; 0: none */
	uint64_t asked;	     /* BUF_ASKED */
	struct mapping *map; /* of an earlier connection or a region, NULL for none; */
	uint8_t *at;	     /* version `kept` lies in it, here */
	uint64_t kept;
	struct braze_array *handles; /* BUF_APART: all handles, by next and back */
	struct near_block *block;    /* `at` lies in it, or did until it was shipped, or NULL */
	struct watch_set *watch;     /* errors that its readers hear of (watch.h), or NULL */
};

struct braze_array {
	struct braze_session *session;
	struct buffer *buf;
	uint32_t id;
	_Atomic uint32_t refs;
	bool contiguous;
	bool named;	 /* the daemon knows it by `id` */
	int64_t count;	 /* elements */
	uint64_t serial; /* of this use of the handle; 0 while it is free */
	struct view view;
	struct braze_array *next;  /* in the free list, or among the handles of a buffer apart */
	struct braze_array **back; /* there: what points here */
};

enum ticket_kind {
	TICKET_DEMAND,
	TICKET_FENCE,
	TICKET_LEASE,
	TICKET_EXPLAIN,
	TICKET_COMPILE,
	TICKET_PUBLISH,
	TICKET_OPEN,
	TICKET_EXPORT,
	TICKET_OFFER,
	TICKET_COMPUTE /* a demand whose values may stay on a device */
};

struct ticket_item {
	struct buffer *buf; /* owns a reference */
	uint64_t version;
	bool alone;	       /* S: it was answered that nothing else reads it */
	uint32_t region, file; /* S: it lies beside the arena; the descriptor, plus 1, 0: none */
};

/* What the daemon says of the GPU that a choice by cost is about; units 0: there is none. */
struct gpu_rates {
	uint32_t units, double_ratio;
	uint64_t memory_rate, upload_rate, download_rate, capacity;
	uint64_t astray; /* runs of loops that went there, and the CPU had to do */
	char name[LIMIT_DEVICE_NAME];
};

/* A demand split into requests of LIMIT_DEMAND_IDS, a fence or a lease. */
struct braze_future {
	struct braze_session *session;
	struct braze_future *next; /* S: among the session's unanswered ones */
	enum ticket_kind kind;
	uint64_t first;		 /* first of its ticket numbers */
	unsigned tickets;	 /* how many */
	unsigned missing;	 /* S: answers not yet here */
	bool waited;		 /* counted as a round trip */
	struct err err;		 /* S: first failure */
	uint64_t offset, bytes;	 /* S: answer to a fence or a lease */
	char *text;		 /* S: explanation; key */
	uint64_t version;	 /* S: of a published array; `bytes`: copied */
	struct opened *opened;	 /* S: what was opened; NULL */
	struct lent *lent;	 /* S: memory of a device; NULL */
	bool starting, usable;	 /* S: of an offer */
	uint8_t offers;		 /* S: of an offer: bits of enum offer */
	struct gpu_rates rates;	 /* S: of an offer */
	void *object;		 /* S: compiled code, loaded; NULL */
	struct watch_set *watch; /* of what was demanded */
	unsigned n, nalso;
	struct ticket_item item[]; /* n asked for; nalso of which the first answer may tell */
};

#define SLAB_ITEMS 256 /* handles or buffers allocated at once */

/* Memory behind the free lists; one of the two is NULL. */
struct slab {
	struct braze_array *arrays;
	struct buffer *buffers;
};

struct lease {
	uint64_t next, end; /* offsets in the arena */
};

#define LEASE_SIZES  4
#define LEASE_SPARES 8

/* Leases of one size that a program takes again and again (lease.c). */
struct lease_size {
	uint64_t bytes;	  /* of each; 0: the row is free */
	unsigned n, more; /* leases kept; how many the next question is for */
	uint64_t offset[LEASE_SPARES];
};

/* What a device has a library for, once that is known: bits. */
enum offer { OFFER_KNOWN = 1, OFFER_FOURIER = 2, OFFER_FACTORS = 4 };

/* Why a recorded op needs a second look. */
enum careful {
	CAREFUL_EAGER = 1,   /* eager or unfused */
	CAREFUL_CHECK = 2,   /* ops may be checked for floating-point errors */
	CAREFUL_WATCHED = 4, /* some buffer carries watches */
	CAREFUL_PROFILE = 8  /* somebody asks what takes time (profile.h) */
};

/* Floating-point errors: what is asked for, and what is open (watch.h). */
struct watching {
	struct braze_watch now; /* of every op, unless ask tells it */
	braze_watcher_fn *ask;
	braze_report_fn *tell;
	void *data;
	uint64_t serial, carriers; /* watches made; buffers that carry a set */
	struct watch **open;	   /* with flags that are not known */
	unsigned nopen, cap, fresh;
	struct braze_future *asked; /* for the flags of the open ones */
};

struct braze_session {
	/* What recording touches. */
	_Atomic uint32_t lock;	/* lock.h */
	uint32_t owned;		/* the owner's lock guards us */
	_Atomic uint32_t state; /* enum status that ends every call; 0 while alive */
	uint32_t careful;	/* enum careful; 0: no second look */
	struct near *near;	/* not NULL: what is at hand and small is computed at once */
	uint8_t why, why_none;	/* enum why: of the next op recorded; and where nothing says more */
	unsigned nops, nin, nimm;
	unsigned nfree_ids;
	uint32_t next_id;
	uint64_t refs; /* arrays, futures and the user's handle */
	uint64_t serial;
	uint32_t nwritten; /* of `written`, since the last demand: the newest is before it */
	struct braze_array *free_arrays;
	struct buffer *free_buffers;
	uint32_t *free_ids;
	uint32_t head[LIMIT_OPS_PER_PACKET];
	uint32_t out[LIMIT_OPS_PER_PACKET];
	uint32_t in[RECORD_BYTES / 4];
	uint64_t imm[RECORD_BYTES / 8];
	uint8_t unary[OP_END][DTYPE_ROOM];  /* result type, or DTYPE_NONE: ask op_infer */
	uint8_t binary[OP_END][DTYPE_ROOM]; /* the same for two operands of this type */
	uint8_t loop[OP_END][DTYPE_ROOM];   /* of both: the type that operands are cast to */

	/* Handles of what recorded ops wrote, in a ring; some are free by now, or another array's.
	 */
	struct braze_array *written[WRITTEN];

	/* The rest under the recorder lock. */
	struct braze_owner owner;
	uint32_t cap_ids;
	unsigned flags, hello_flags;
	uint32_t device;		    /* of the ops recorded now, as the wire has it */
	uint8_t precision, first_precision; /* enum precision of products recorded now; at first */
	bool bfloat16;			    /* there have been arrays of it */
	bool shared;			    /* results recorded now get memory of their own */
	uint32_t site;			    /* braze_set_site */
	struct watching watching;
	uint32_t ndevice;
	uint8_t offers[LIMIT_DEVICES + 2]; /* bits of enum offer, by `device` */
	struct gpu_rates rates;		   /* as they were told ... */
	int64_t rates_ms;		   /* ... then; 0: never */
	int64_t here_ms;		   /* until then no loops go there by cost, ... */
	unsigned strays;		   /* ... since that went wrong so often */
	uint64_t connection;		   /* of this process, which no other one of it has, ... */
	uint32_t ngrid;			   /* ... and how many of kernels' loops it was told of */
	uint32_t minor;			   /* of the daemon's protocol */
	char asked[LIMIT_DEVICE_NAME];	   /* device when connecting; "" for none */
	char device_name[LIMIT_DEVICES][LIMIT_DEVICE_NAME];
	uint64_t seq, tickets;
	struct lease lease;
	struct lease_size spare[LEASE_SIZES];
	unsigned spare_next; /* row to be used for another size */
	struct braze_counters counters;
	uint64_t profile_at;	 /* counters.near at which the next tick is due */
	uint32_t profile_left;	 /* recorded operations until then */
	struct profile *profile; /* NULL: nobody asks */
	struct near *near_made;	 /* what `near` is while nothing switches it off; may be NULL */
	unsigned scattered; /* floating-point errors of the last scatter, as BRAZE_DIVIDE, ... */
	bool near_off;	    /* BRAZE_NEAR=0 */
	uint64_t loops;	    /* of the daemon: loops_identity() */
	char notice[LIMIT_NOTICE]; /* of the daemon, for people; "" for none */
	struct slab *slabs;
	size_t nslabs;
	uint8_t *arena;
	struct mapping *map;		      /* the arena's */
	struct mapping *beside[REGIONS_KEPT]; /* region.h; the newest first, NULL behind the last */
	uint64_t arena_bytes;
	pid_t child; /* private daemon, or 0 */
	bool forked, closed;
	bool told;	 /* the daemon answers with what it spent, for a profile */
	bool marked;	 /* the buffers know that the connection is lost */
	bool reconnect;	 /* BRAZE_RECONNECT */
	struct err loss; /* why the last connection ended */
	/* Of the options, to connect again; may be NULL. */
	char *socket, *name, *want, *file, *environment;
	unsigned open_flags;
	struct braze_session *link; /* registry of session.c */
	uint8_t outbox[LIMIT_PACKET_BYTES];

	/* S */
	pthread_mutex_t sock;
	pthread_cond_t wake;
	int fd;
	bool reading;		   /* somebody polls the socket */
	int64_t spin_ns;	   /* and looks at it for so long before he sleeps ... */
	bool on_gpu;		   /* ... longer where a GPU was asked for, ... */
	struct spin_pace pace;	   /* ... as answers of it took; who reads has it */
	struct braze_future *open; /* unanswered */
	struct err death;	   /* why state is not OK */
	struct braze_spent spent;  /* by the daemon, as it said last; 0 once it is not asked */
	struct packet inbox;
};

/* The public error has the layout of struct err. */
_Static_assert(sizeof(struct err) == sizeof(braze_error), "one error layout");
_Static_assert(offsetof(struct err, text) == offsetof(braze_error, text), "one error layout");
static inline struct err *err_of(braze_error *e)
{
	return (struct err *)(void *)e;
}

#endif
