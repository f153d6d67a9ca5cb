/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_worker.h - a worker process whose device is a GPU: its state.
 *
 *   command thread   reads packets; answers pings, cancels, watches for hangs
 *   lane             one for each client: its stream, its memory, two threads
 *     issuer         takes the client's allocations, runs and drops in their order
 *                    and gives them to the driver; has it nothing else to do, it looks
 *                    for the end of the run under way for a moment, and completes it
 *     waiter         sleeps until the device is done with runs that take longer, or of
 *                    which there are several, and completes them
 *   helpers          one loads kernels' code, one registers arenas with the driver
 *   tuner            tries other geometries of kernels while the device has nothing to do
 *
 * A run's way: cuda_worker.c reads it, cuda_run.c checks it and takes hold of the
 * arenas and kernels it names, cuda_lane.c queues it, cuda_issue.c turns its steps
 * into launches (cuda_step.c, cuda_matmul.c) and copies (cuda_transfer.c), and
 * cuda_wait.c sees its end and sends its completion.
 *
 * No driver call is made while `lock` of the worker or of a lane is held, but for the
 * words written on the control stream, which never wait. */
#ifndef BRAZE_CUDA_WORKER_H
#define BRAZE_CUDA_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "cuda_api.h"
#include "cuda_launch.h"
#include "cuda_order.h"
#include "cuda_tune.h"
#include "spin.h"
#include "contract/command.h"
#include "worker/steps.h"

#define CUDA_SLOTS	 4	      /* runs of a lane that the device may hold */
#define CUDA_SMALL_BYTES (32u << 10)  /* copies up to this need no staging */
#define CUDA_RING_BYTES	 (8u << 20)   /* one of the two buffers of a staging ring */
#define CUDA_CHUNK_BYTES (512u << 10) /* arenas are registered in chunks of this size */
#define CUDA_PIN_USES	 2	      /* copies of a chunk before it is registered */
#define CUDA_PIN_MOST	 (4ull << 30) /* registered at most, unless it is set */
#define CUDA_QUEUED	 512	      /* launches of a lane that the driver holds at most */
#define CUDA_KEPT	 64	      /* freed pieces of memory that a lane keeps at most */

/* ---- names to objects ------------------------------------------------------------ */

/* By rising id. */
struct cuda_table {
	struct cuda_name {
		uint32_t id;
		void *object;
	} * item;
	uint32_t count, cap;
};

void *cuda_table_find(const struct cuda_table *t, uint32_t id);	      /* NULL: none */
void cuda_table_put(struct cuda_table *t, uint32_t id, void *object); /* id is new */
void *cuda_table_take(struct cuda_table *t, uint32_t id);	      /* NULL: none */
void cuda_table_finish(struct cuda_table *t);

/* ---- helpers: work that may take long, one piece after the other --------------------- */

struct cuda_task {
	struct cuda_task *next;
	void (*run)(struct cuda_task *task); /* owns it */
};

struct cuda_helper {
	struct cuda *c;
	pthread_t thread;
	bool started, stop;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct cuda_task *head, **tail;
};

enum status cuda_helper_start(struct cuda_helper *h, struct cuda *c, struct err *err) MUST_USE;
void cuda_helper_give(struct cuda_helper *h, struct cuda_task *task);
void cuda_helper_finish(struct cuda_helper *h); /* runs what was given before */

/* ---- memory ---------------------------------------------------------------------- */

enum cuda_chunk_state { CHUNK_PLAIN, CHUNK_ASKED, CHUNK_PINNED, CHUNK_LEAVING, CHUNK_REFUSED };

struct cuda_chunk {
	uint8_t state;	/* enum cuda_chunk_state */
	uint8_t uses;	/* copies so far, while it is plain */
	uint32_t users; /* runs with direct copies that are not complete */
};

/* A chunk that a run copies through. */
struct cuda_pin {
	struct cuda_host *host;
	uint32_t chunk;
};

/* A client's arena, mapped.  The table and every queued run hold it; whoever lets go
 * last has it unregistered and unmapped by the helper. */
struct cuda_host {
	struct cuda *c;
	uint32_t id;
	atomic_uint refs;
	char *addr;
	uint64_t bytes;
	pthread_mutex_t lock; /* of the chunks */
	pthread_cond_t unused;
	uint32_t nchunk;
	struct cuda_chunk *chunk;
};

/* Memory of the device, known to its lane's issuer only. */
struct cuda_region {
	uint32_t id;
	CUdeviceptr addr;
	uint64_t bytes;
	/* Not 0: memory that other processes may have, of so many bytes (cuda_export.c). */
	uint64_t shared_bytes;
	CUmemGenericAllocationHandle shared;
	bool imported;	 /* of another device (cuda_import.c) ... */
	struct err *why; /* ... and it cannot be had; or NULL */
	bool absent;	 /* it could not be had; free_bytes were free then */
	uint64_t free_bytes;
};

/* A place with the proof that its bytes lie inside its region. */
struct cuda_spot {
	struct cuda_host *host; /* NULL: the device */
	uint64_t offset;	/* in the arena */
	CUdeviceptr addr;	/* on the device */
};

/* Accumulators of a reduction whose chunks come in several runs. */
struct cuda_part {
	struct cuda_part *next;
	uint64_t job, bytes;
	uint32_t step;
	bool kept; /* for the step's other slices */
	CUdeviceptr addr;
};

#define CUDA_CLASSES 160
struct cuda_free {
	pthread_mutex_t lock;
	/* Of a pool: pieces that were freed last, oldest first, for whoever asks for as many
	 * bytes next; the stream orders their uses. */
	uint32_t nkept;
	uint64_t kept_bytes;
	struct cuda_kept {
		uint64_t bytes;
		CUdeviceptr addr;
	} kept[CUDA_KEPT];
	/* Where the driver has no pools: what was freed, by size. */
	struct cuda_block {
		struct cuda_block *next;
		CUdeviceptr addr;
	} * list[CUDA_CLASSES];
};

/* Two pinned buffers through which one direction's copies go. */
struct cuda_ring {
	pthread_mutex_t lock;
	pthread_cond_t given;
	CUstream stream;
	bool ready, refused; /* no pinned memory could be had */
	struct cuda_ring_slot {
		char *mem;
		CUevent done; /* the device's last use of it */
		bool taken;
	} slot[2];
};

/* ---- kernels ------------------------------------------------------------------------ */

enum cuda_code_state { CODE_NONE, CODE_LOADING, CODE_READY, CODE_FAILED };

/* The table and every queued run hold it.  New code for an id makes a new one. */
struct cuda_kernel {
	struct cuda *c;
	uint32_t id;
	atomic_uint refs;
	struct nest *spec; /* NULL: a matrix product's */
	uint32_t checks;   /* of its places: words of error that a launch needs */
	pthread_mutex_t lock;
	pthread_cond_t loaded;
	enum cuda_code_state state; /* under lock; what follows is fixed from READY on */
	CUmodule module;
	CUfunction entry[ENTRY_END]; /* NULL: it has none */
	struct cuda_facts facts[ENTRY_END];
	struct err err; /* FAILED */
	/* Of the tuner, under its lock. */
	struct cuda_subject *subjects;
	bool untried; /* no trials: one ended a worker */
};

/* ---- runs --------------------------------------------------------------------------- */

/* Bytes in pinned memory that go to an arena when the run is done. */
struct cuda_copyout {
	struct cuda_host *host;
	uint64_t offset;
	uint32_t bytes;
	const char *from; /* in a buffer of the run's slot */
};

/* Of a run: one for each check of its nests, and one for all of its library steps. */
#define CUDA_ERROR_WORDS (LIMIT_PARTITION_CHECKS + 1)

struct cuda_run {
	struct cuda_run *next;
	struct cuda_lane *lane;
	uint64_t ticket;
	atomic_bool cancelled; /* set under the lane's lock */
	atomic_bool hung;      /* cancelled by the watch */
	bool ready;	       /* issued: the waiter may take it; under the lane's lock */
	atomic_bool begun;     /* something of it was given to the driver */
	bool marked;	       /* the mark of its end is on the stream */
	bool timed, recorded;  /* its events are: of its begin and end; of its end */
	int64_t began_ns;      /* when its issue did */
	atomic_bool writes;    /* copies to arenas are under way until it is complete */
	bool over;	       /* done on the device; under the lane's lock */
	bool word_set;	       /* its cancel word was written; under the lane's lock */
	uint32_t slot;
	uint32_t serial; /* of its first step's mark */
	uint32_t nstep, nfetch, nhost, ncopyout;
	const struct command_step **step; /* [nstep], in `packet` */
	struct cuda_kernel **kernel;	  /* [nstep]; NULL: the step names none */
	const struct command_fetch *fetch;
	struct cuda_host **host; /* [nhost] held */
	struct cuda_pin *pin;	 /* [npin] chunks in use */
	uint32_t npin, pin_cap;
	bool alone; /* one step at a time */
	struct cuda_told {
		atomic_bool several; /* its mark stands for it and steps after it */
		atomic_bool quiet;   /* it has none: the mark before it stands for it as well */
	} * told;		     /* [nstep] */
	bool suspect;		     /* a step behind the last mark may be to blame for a death */
	struct cuda_spot from[8];    /* [nfetch] */
	struct cuda_copyout *copyout;
	uint32_t bounced, edged; /* bytes of the slot's buffers in use */
	uint32_t nword;		 /* words of its errors in use, and whose they are */
	struct command_fault word[CUDA_ERROR_WORDS];
	uint32_t library_products, own_products; /* slices of products: by cuBLAS, by our kernel */
	struct err err;
	/* Of the tuner: launches of this run that it counts, and the bytes of all. */
	struct cuda_share *share; /* [nshare] */
	uint32_t nshare;
	uint64_t moved;
	_Alignas(8) char packet[];
};

/* One launch, ready to be made; its parameter lies in the volley's blocks. */
struct cuda_shot {
	CUfunction function;
	struct cuda_kernel *kernel;
	uint32_t grid, threads;
	uint32_t step;	    /* of the run */
	uint32_t aim;	    /* its number in the volley's order */
	uint32_t at, bytes; /* of the parameter */
};

/* Launches of steps that follow each other, gathered, then made at once. */
#define CUDA_VOLLEY	   128 /* at most */
#define CUDA_STEP_LAUNCHES 40  /* of one step, at most */
#define CUDA_GRAPH_LEAST   4   /* launches that a graph is worth */
struct cuda_volley {
	uint32_t n, nspent;
	struct cuda_shot shot[CUDA_VOLLEY];
	struct cuda_part *spent[CUDA_VOLLEY]; /* accumulators to free behind them */
	struct cuda_order order;	      /* of the steps whose launches these are */
	char *blocks;
	size_t used, cap;
};
_Static_assert(CUDA_VOLLEY <= CUDA_ORDER_STEPS, "a step has a launch at least");

/* ---- lanes -------------------------------------------------------------------------- */

enum cuda_item_kind {
	ITEM_ALLOC,
	ITEM_IMPORT,
	ITEM_CLEAR,
	ITEM_EXPORT,
	ITEM_DROP,
	ITEM_RUN,
	ITEM_FORGET
};

struct cuda_item {
	struct cuda_item *next;
	enum cuda_item_kind kind;
	uint32_t region;
	int fd;	       /* of an import, ... */
	uint32_t peer; /* ... and the number of the device whose memory it is */
	uint64_t arg;  /* bytes of an allocation or import; number of an export; job to forget */
	struct cuda_run *run;
};

struct cuda_slot {
	bool taken;   /* under the lane's lock */
	bool no_edge; /* the driver gave no memory for `edge` */
	CUevent begin, end;
	CUdeviceptr cancel; /* its word, 0 but for a run that is cancelled */
	char *bounce;	    /* pinned: fetched bytes, then small copies */
	char *edge;	    /* pinned: what lies before and behind registered chunks, of results;
			       NULL until there is some */
	CUdeviceptr error;  /* a word for each check of a run */
	uint64_t *found;    /* pinned: what they are at its end */
};
#define CUDA_ERROR_BYTES  (CUDA_ERROR_WORDS * sizeof(uint64_t))
#define CUDA_BOUNCE_BYTES (8 * LIMIT_INLINE_BYTES + CUDA_SMALL_BYTES)
#define CUDA_EDGE_BYTES	  (1u << 20) /* two chunks */

/* The lane's other streams: for steps of a volley that do not depend on each other. */
struct cuda_side {
	uint32_t open; /* streams so far, the lane's own counted */
	bool refused;  /* the driver gave no more */
	CUstream stream[CUDA_ORDER_STREAMS];
	CUevent turn[CUDA_ORDER_STREAMS];
	/* Steps of stream `from` that stream `to` waits for: those below a number. */
	uint32_t known[CUDA_ORDER_STREAMS][CUDA_ORDER_STREAMS];
};

struct cuda_lane {
	struct cuda_lane *next;
	struct cuda *c;
	uint64_t client;
	uint32_t nregion; /* command thread's count */
	pthread_t waiter;

	pthread_mutex_t lock; /* down to `seen` */
	pthread_cond_t more;  /* for the issuer */
	pthread_cond_t moved; /* for the waiter, and whoever waits for room */
	struct cuda_item *head, **tail;
	bool open, busy, stop;
	bool handed; /* what is issued is the waiter's to complete, else the issuer's */
	struct cuda_run *taken_run;		/* by the issuer, not yet among the issued */
	struct cuda_run *issued, **issued_tail; /* oldest first */
	uint32_t nissued, nparts;
	int row;	/* of the progress page; -1: none was left */
	uint32_t *mark; /* written by the device: the step it has come to */

	/* Of the watch: what was under way, and since when. */
	struct {
		uint32_t mark;
		uint64_t ticket;
		int64_t since_ns, cancelled_ns;
	} seen;

	atomic_bool patient; /* the issuer is in a call that may be slow: no hang */

	atomic_bool hungry; /* the issuer waits for memory */
	atomic_uint queued; /* items, as the issuer sees them without the lock */

	/* Of whoever completes runs: the issuer or, once it has them, the waiter. */
	struct {
		uint32_t runs;	 /* so far */
		int64_t busy_ns; /* of the last one */
		int64_t over_ns; /* when its end was seen */
		int64_t late_ns; /* by how much a run takes longer seen from here than on the device
				  */
		struct spin_pace ends;
	} clock;

	/* The issuer's, once open. */
	struct err err; /* it could not be opened: its runs fail so */
	CUstream stream;
	struct cuda_side side;
	CUmemoryPool pool;
	struct cuda_free freed;
	struct cuda_table regions;
	struct cuda_part *parts;
	uint32_t serial;       /* of the next mark */
	uint32_t launches;     /* that the driver may hold */
	int64_t idle_ns;       /* since then it has nothing to do; 0: it has */
	struct spin_pace gaps; /* how long it had nothing to do */
	bool eager;	       /* the last time not longer than it may look for an item */
	CUdeviceptr words;     /* of errors */
	CUdeviceptr stops;     /* its runs' cancel words */
	char *pinned;
	struct cuda_slot slot[CUDA_SLOTS];
	CUdeviceptr mark_device;
	struct cuda_volley volley;
	struct cuda_graph *graphs; /* last used first */
	int blas_math;		   /* as its handle is set */
	bool blas_tried;
	bool blas_refused;		   /* a call, and that was told */
	void *blas;			   /* handle of cuda_blas.h; NULL: there is none */
	CUdeviceptr blas_space;		   /* its workspace */
	struct cuda_fft_plan *fft_plans;   /* of cuda_fft.h, the one used last first */
	struct cuda_solver_handle *solver; /* of cuda_solver.h; NULL: there is none yet */
	void *sparse;			   /* handle of cuda_sparse.h; NULL: there is none yet */
};

/* ---- the worker --------------------------------------------------------------------- */

struct cuda {
	int fd;
	struct progress *page;
	struct cuda_api api;
	struct cuda_blas *blas;
	struct cuda_fft *fft;	    /* cuda_fft.h; NULL: there is none */
	struct cuda_solver *solver; /* cuda_solver.h; NULL: there is none */
	struct cuda_sparse *sparse; /* cuda_sparse.h; the same */
	CUdevice device;
	CUcontext context;
	uint32_t arch, units;
	struct cuda_limits limits;	/* of a multiprocessor */
	uint32_t khz, single_to_double; /* clock; how much faster float32 is than float64 */
	uint64_t memory, memory_rate;	/* bytes, bytes a second */
	char name[64], uuid[48];
	bool late_reads;  /* the device may read ordinary memory when a copy's call has returned */
	bool fourier;	  /* there is a library of Fourier transforms */
	bool factors;	  /* there is a library of factors of matrices */
	bool exports;	  /* it may be given to other processes */
	bool imports;	  /* memory of other devices can be mapped, ... */
	uint64_t peers;	  /* ... of those: a bit for each of the driver's numbers */
	bool pools;	  /* memory comes from pools */
	bool serves;	  /* it is open; before, errors are those of its start */
	bool write_value; /* words are written by cuStreamWriteValue32 */
	CUstream control; /* cancels */
	struct {
		pthread_mutex_t lock;
		struct words_block *first;
	} words;
	int64_t hang_ns, grace_ns;
	int64_t spin_ns; /* an issuer looks for the end of a run, or the next, before it sleeps */
	uint32_t time_each;	 /* of so many short runs one is timed by events */
	uint64_t keep_bytes;	 /* freed memory that a lane keeps by itself */
	int64_t look_ns;	 /* who reads packets looks for the next one, likewise */
	bool crowded;		 /* few cores: who looks for something yields */
	atomic_ullong pin_limit; /* bytes of arenas that may be registered */
	uint64_t chunk_bytes;
	atomic_ullong pinned;
	atomic_ullong used; /* bytes of the device that lanes have taken */

	pthread_mutex_t lock; /* `lanes` and `rows` against other threads' walks */
	struct cuda_lane *lanes;
	atomic_uint closing; /* lanes that are in the list no more */
	uint64_t rows;	     /* of the progress page that are in use */
	pthread_mutex_t trimming;
	struct cuda_ring up, down;
	struct cuda_helper loader, pinner;
	struct cuda_tuner tuner;

	/* The command thread's. */
	struct cuda_table hosts, owners, kernels; /* owners: the lane of a device region */
	char *packet;
	bool closed;
};

/* cuda_worker.c.  Serve commands on fd until it closes; 0 is the worker's exit status. */
int cuda_worker_serve(int fd, struct progress *page, int ordinal);
void cuda_worker_send(struct cuda *c, const void *data, size_t bytes);
void cuda_worker_send_file(struct cuda *c, const void *data, size_t bytes, int fd);
int64_t cuda_worker_clock(void); /* nanoseconds */

/* cuda_context.c: the device, what it is, and what all lanes share. */
enum status cuda_context_open(struct cuda *c, int ordinal, struct err *err) MUST_USE;
void cuda_context_close(struct cuda *c);
/* OK, or the error of a call; does not return when the context is lost. */
enum status cuda_context_check(struct cuda *c, CUresult rc, struct err *err, const char *what, ...)
	PRINTF_LIKE(4, 5) MUST_USE;
/* The same where a failure has no other consequence: it is logged. */
void cuda_context_expect(struct cuda *c, CUresult rc, const char *what);
/* Write a word in the order of the stream. */
CUresult cuda_context_write(struct cuda *c, CUstream stream, CUdeviceptr word, uint32_t value);

/* cuda_memory.c: of the device, in the order of a lane's stream.  Issuer. */
enum status cuda_memory_open(struct cuda_lane *l, struct err *err) MUST_USE;
void cuda_memory_close(struct cuda_lane *l);
enum status cuda_memory_take(struct cuda_lane *l, CUdeviceptr *out, uint64_t bytes,
			     uint64_t *free_bytes, struct err *err) MUST_USE;
void cuda_memory_give(struct cuda_lane *l, CUdeviceptr addr, uint64_t bytes);
/* Give what no lane uses back to the device; waits for it. */
void cuda_memory_gather(struct cuda_lane *hungry);

/* cuda_region.c: arenas (command thread) and a lane's regions (issuer). */
enum status cuda_region_map(struct cuda *c, uint32_t id, int fd, uint64_t bytes,
			    struct err *err) MUST_USE;
void cuda_region_unmap(struct cuda *c, uint32_t id);
void cuda_region_ref(struct cuda_host *h);
void cuda_region_unref(struct cuda_host *h);
void cuda_region_take(struct cuda_lane *l, uint32_t id, uint64_t bytes);
/* All zeros, for what is issued next; a region that cannot be cleared is absent from then on. */
void cuda_region_clear(struct cuda_lane *l, uint32_t id);
void cuda_region_drop(struct cuda_lane *l, uint32_t id);
/* Where [place + lo, place + hi) lies, for a run that holds its arenas. */
enum status cuda_region_resolve(struct cuda_spot *out, const struct cuda_run *run,
				const struct command_place *place, int64_t lo, int64_t hi,
				struct err *err) MUST_USE;

/* cuda_export.c: memory that other processes may have.  Issuer. */
/* CMD_DEVICE_EXPORT: the region's memory becomes such, if it is not, and its descriptor is sent. */
void cuda_export_region(struct cuda_lane *l, uint32_t id, uint64_t number);
/* The region, which has such memory, lets go of it; who else has it keeps it. */
void cuda_export_drop(struct cuda_lane *l, struct cuda_region *g);
/* The answer to who asks for what cannot be had.  Any thread. */
void cuda_export_refuse(struct cuda *c, uint64_t number, const struct err *why);

void cuda_export_let_go(struct cuda *c, CUdeviceptr at, uint64_t bytes,
			CUmemGenericAllocationHandle memory, bool mapped);

/* cuda_import.c: memory of other devices. */
/* Does this device reach the memory of the driver's device of that number?  All that it reaches. */
bool cuda_import_reaches(struct cuda *c, int ordinal);
uint64_t cuda_import_peers(struct cuda *c, int count);
/* CMD_DEVICE_IMPORT, with the item's descriptor, which it closes; the region's end.  Issuer. */
void cuda_import_region(struct cuda_lane *l, const struct cuda_item *item);
void cuda_import_drop(struct cuda_lane *l, struct cuda_region *g);

/* cuda_pin.c: chunks of arenas known to the driver.  Any thread. */
/* Bytes from offset on, at most n, that lie in one registered chunk, which the run then
 * uses until cuda_pin_give; 0: the first is in none, and *plain bytes are not either. */
uint64_t cuda_pin_take(struct cuda_run *run, struct cuda_host *h, uint64_t offset, uint64_t n,
		       uint64_t *plain);
void cuda_pin_give(struct cuda_run *run); /* its copies are done */
/* A copy uses these bytes: chunks that are worth it are registered, soon. */
void cuda_pin_note(struct cuda_host *h, uint64_t offset, uint64_t n);
/* CMD_RELEASE: let go of what overlaps, then answer.  Command thread. */
void cuda_pin_release(struct cuda *c, const struct command *head);
void cuda_pin_finish(struct cuda_host *h);	/* the helper, before unmapping */
uint64_t cuda_pin_limit(uint64_t memory_bytes); /* on a machine with so much memory */

/* cuda_ring.c: copies through pinned memory; the issuer waits for its stream first. */
void cuda_ring_init(struct cuda_ring *r);
void cuda_ring_close(struct cuda *c, struct cuda_ring *r);
enum status cuda_ring_up(struct cuda_lane *l, CUdeviceptr to, const char *from, uint64_t n,
			 struct err *err) MUST_USE;
enum status cuda_ring_down(struct cuda_lane *l, char *to, CUdeviceptr from, uint64_t n,
			   struct err *err) MUST_USE;

/* cuda_code.c: kernels by id.  Command thread; loading is the helper's. */
enum status cuda_code_add(struct cuda *c, uint32_t id, const void *nest, size_t bytes,
			  struct err *err) MUST_USE;
void cuda_code_load(struct cuda *c, uint32_t id, int fd, uint64_t bytes); /* owns fd */
void cuda_code_drop(struct cuda *c, uint32_t id);
void cuda_code_ref(struct cuda_kernel *k);
void cuda_code_unref(struct cuda_kernel *k);
/* Issuer: its function for an entry, once it has been loaded. */
enum status cuda_code_entry(CUfunction *out, struct cuda_kernel *k, enum cuda_entry entry,
			    struct err *err) MUST_USE;

/* cuda_run.c: a packet, checked, with what it names held. */
struct cuda_run *cuda_run_create(struct cuda *c, const char *packet, size_t bytes);
void cuda_run_destroy(struct cuda_run *run);

/* cuda_issue.c: give a run to the driver.  Issuer. */
void cuda_issue(struct cuda_run *run);
/* Everything before is done and its bytes are in the arenas. */
enum status cuda_issue_settle(struct cuda_run *run, struct err *err) MUST_USE;
/* Room for so many launches.  One more than the driver queues would wait in it with its
 * lock held, and a cancel behind it. */
enum status cuda_issue_room(struct cuda_lane *l, uint32_t launches, struct err *err) MUST_USE;
/* Carry bytes of the bounce buffer to the arenas. */
void cuda_issue_copyouts(struct cuda_run *run);
void cuda_issue_forget(struct cuda_lane *l, uint64_t job);
/* cuda_wait.c: the ends of runs. */
/* Issuer: complete the run under way, if it is the issuer's and over. */
void cuda_wait_look(struct cuda_lane *l);
/* Issuer: what is under way is the waiter's from here on. */
void cuda_wait_hand(struct cuda_lane *l);
/* Issuer, without an item: complete what is under way, or hand it over; look for an
 * item for a moment. */
void cuda_wait_idle(struct cuda_lane *l);
/* Issuer: shall events tell the time of the run that is issued next? */
bool cuda_wait_times(const struct cuda_lane *l);
void *cuda_wait_main(void *lane); /* the waiter */

/* cuda_step.c: gather the launches of one step; make those that were gathered. */
enum status cuda_step_aim(struct cuda_run *run, uint32_t i, struct err *err) MUST_USE;
enum status cuda_step_fire(struct cuda_run *run, struct err *err) MUST_USE;
/* Free what a volley held that is not made. */
void cuda_step_clear(struct cuda_lane *l);
/* cuda_call.c, cuda_matmul.c, cuda_fourier.c, cuda_factors.c, cuda_transfer.c: one step. */
enum status cuda_call_step(struct cuda_run *run, uint32_t i, struct err *err) MUST_USE;
/* Does the step look whether its operands are what it was told?  Then it has a word of error, whose
 * check is CUDA_CALL_CHECK. */
bool cuda_call_checks(const struct command_step *s);
#define CUDA_CALL_CHECK UINT16_MAX
/* A slice of a library step, checked: where its operands lie on the device, and what it does. */
struct cuda_called {
	struct plan_call call;
	uint64_t base[CALL_OPERANDS];
	struct cuda_order_range range[CALL_OPERANDS];
	uint32_t noperand;
	int64_t lo, hi;	   /* units */
	uint64_t elements; /* of all of them */
};
/* A GPU faults where an element does not lie on a multiple of its size. */
enum status cuda_call_aligned(const struct cuda_called *c, unsigned x, struct err *err) MUST_USE;
enum status cuda_matmul_step(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			     struct err *err) MUST_USE;
enum status cuda_fourier_step(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			      struct err *err) MUST_USE;
enum status cuda_factors_step(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			      struct err *err) MUST_USE;
enum status cuda_grid_step(struct cuda_run *run, uint32_t i, const struct cuda_called *c,
			   struct err *err) MUST_USE;
enum status cuda_transfer_step(struct cuda_run *run, const struct command_step *s,
			       struct err *err) MUST_USE;

/* Tell where the device has come to, in the order of the stream: a mark before the step,
 * unless the one that is there tells as much.  tiny: a copy that is over at once. */
enum status cuda_issue_mark(struct cuda_run *run, uint32_t step, bool tiny,
			    struct err *err) MUST_USE;

/* Gather one launch of step i: as the first of its step, with the bytes it touches and
 * the elements that each of its threads works on. */
struct cuda_shot_facts {
	CUfunction function;
	uint32_t grid, threads;
	const void *block; /* the parameter */
	size_t bytes;
	const struct cuda_order_range *range;
	uint32_t nrange;
	uint64_t turns;
};
void cuda_step_shoot(struct cuda_run *run, uint32_t i, const struct cuda_shot_facts *f);
/* Gather one more of the step that was gathered last. */
void cuda_step_follow(struct cuda_run *run, uint32_t i, const struct cuda_shot_facts *f);
/* Memory for the step's partial results, until its launches are done. */
enum status cuda_step_part(uint64_t *out, struct cuda_run *run, uint32_t i, uint64_t bytes,
			   struct err *err) MUST_USE;
/* An entry of the step's kernel, which may have to be waited for. */
enum status cuda_step_entry(CUfunction *out, struct cuda_run *run, uint32_t i,
			    enum cuda_entry entry, struct err *err) MUST_USE;
/* Words of the run's errors that a step has; the one of a library step. */
uint32_t cuda_step_words(const struct cuda_run *run, uint32_t i);
enum status cuda_step_word(uint64_t *out, struct cuda_run *run, uint32_t i,
			   struct err *err) MUST_USE;

/* cuda_side.c: the streams beside the lane's own.  What is launched on them lies between
 * a fork and a join: before and after, the lane's own stream has everything in order. */
/* So many streams; false: there are not as many. */
bool cuda_side_open(struct cuda_lane *l, uint32_t streams);
void cuda_side_close(struct cuda_lane *l); /* nothing is on them */
enum status cuda_side_fork(struct cuda_lane *l, uint32_t streams, struct err *err) MUST_USE;
/* Step i of the order, the next, waits for those that it follows. */
enum status cuda_side_follow(struct cuda_lane *l, const struct cuda_order *o, uint32_t i,
			     struct err *err) MUST_USE;
void cuda_side_join(struct cuda_lane *l, uint32_t streams);

/* cuda_graph.c: volleys that come again are replayed as graphs. */
/* Make the lane's volley by a graph; *done false: it is not one that has one. */
enum status cuda_graph_fire(struct cuda_run *run, bool *done, struct err *err) MUST_USE;
void cuda_graph_finish(struct cuda_lane *l);

/* cuda_words.c: cancel words for a lane, all 0.  Any thread. */
enum status cuda_words_take(struct cuda *c, CUdeviceptr *out, struct err *err) MUST_USE;
void cuda_words_give(struct cuda *c, CUdeviceptr words);
void cuda_words_finish(struct cuda *c);

/* cuda_lane.c: the queue of a client.  Command thread. */
struct cuda_lane *cuda_lane_of(struct cuda *c, uint64_t client);
/* On the issuer's thread: is there the slot's buffer `edge`?  It is made at its first use. */
bool cuda_lane_edge(struct cuda_lane *l, struct cuda_slot *s);
/* A copy of the item; or one of these. */
void cuda_lane_give_item(struct cuda_lane *l, const struct cuda_item *like);
void cuda_lane_give(struct cuda_lane *l, enum cuda_item_kind kind, uint32_t region, uint64_t arg,
		    struct cuda_run *run);
void cuda_lane_cancel(struct cuda_lane *l, uint64_t job);
/* The watch: end its oldest run, which hangs.  Its lock is held. */
void cuda_lane_stop_oldest(struct cuda_lane *l);
/* End them all; their runs are cancelled. */
void cuda_lane_finish(struct cuda *c);

/* cuda_watch.c: the progress page, and the ends that it must tell of. */
/* The lane's row of the page; its lock is held.  last: nothing more will be shown. */
void cuda_watch_show(struct cuda_lane *l, bool last);
/* Command thread, now and then: show what runs; end a worker that hangs.  false:
 * nothing is under way, so that it need not be called before the next command. */
bool cuda_watch_tick(struct cuda *c);
_Noreturn void cuda_watch_fatal(struct cuda *c, CUresult rc, const char *what);

#endif
