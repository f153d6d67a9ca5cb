/* SPDX-License-Identifier: Apache-2.0 */
/* cu.h - the stand-in driver: libcuda.so.1 over host memory and threads.
 *
 * In: calls of the Driver API.  Out: what a GPU would have stored, or the error that a
 * GPU would have given.  The path of a call:
 *
 *   cu_enter (cu_fault.c: injected errors, the context's fault)
 *     -> struct cu_op in a stream's queue (cu_stream.c: one thread for each stream)
 *     -> cu_op_execute (cu_op.c) -> ptx_run for kernels, cu_clock.c for what it takes
 *
 * Device addresses are made up and mapped nowhere; cu_memory.c knows what lies behind
 * them.  One lock, cu_lock, guards all tables; a stream's queue has its own.  cu_lock
 * is taken first. */
#ifndef STANDIN_CU_H
#define STANDIN_CU_H

#include "../../proto/cuda_driver.h"
#include "ptx.h"
#include <pthread.h>
#include <stdio.h>

#define DECLARE(name, params) __attribute__((visibility("default"))) CUresult name params;
CUDA_DRIVER_CALLS(DECLARE)
#undef DECLARE

#define CU_MAX_DEVICES 8

extern pthread_mutex_t cu_lock;

/* ---- configuration: BRAZE_STANDIN and the control file (cu_fault.c) ---- */

struct cu_config {
	uint64_t vram, max_instructions;
	int64_t oom_after; /* bytes that may still be allocated; -1: any */
	long delay_us;	   /* before each operation of a stream */
	unsigned major, minor, devices, sms, seed, threads, khz;
	unsigned driver; /* 12040: of CUDA 12.4, which takes no code of a later one */
	bool race, stale;
	bool twins;	   /* all devices have one UUID */
	unsigned slices;   /* the one GPU is cut into so many; 0: it is whole */
	unsigned slice;	   /* of these what this process sees */
	bool hold;	   /* cuInit does not return */
	unsigned pageable; /* the device reads ordinary memory: copies from there are refused */
	/* Of events: the machine's clock, or a GPU's with these numbers (cu_clock.c). */
	bool modelled;
	double memory_gbs, link_gbs, peer_gbs, launch_us, slow;
	uint64_t apart[CU_MAX_DEVICES]; /* a bit for each device whose memory it cannot reach */
};
extern struct cu_config cu_config;

void cu_fault_setup(void); /* reads the environment, once */
void cu_count_setup(const char *path);
void cu_count(const char *what, uint64_t n);
void cu_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What is to happen to the operation that the current call makes. */
struct cu_injected {
	bool hang, skip;
	int fault;
};
struct cu_injected cu_take_injected(void);

/* ---- order between operations (cu_race.c) ---- */

#define CU_PAST_STREAMS 64 /* streams at a time that are watched */

/* What comes before: for each place of a stream, how many operations of it. */
struct cu_past {
	uint64_t at[CU_PAST_STREAMS];
};

/* Bytes of one allocation that an operation has touched. */
struct cu_touch {
	uint64_t allocation, lo, hi;
	bool write;
};

struct cu_op;
struct CUstream_st;
struct cu_launched;
int cu_race_stream(void); /* a place; -1: none is left, the stream is not watched */
void cu_race_stream_ends(int slot);
void cu_race_queued(struct cu_op *op);
void cu_race_begins(struct CUstream_st *s, const struct cu_op *op);
void cu_race_join(struct cu_past *c, const struct cu_past *other);
void cu_race_waited(const struct cu_past *c); /* the caller, for what has this past */
/* False, with a text: something else touches the bytes, too, and nothing orders them. */
bool cu_race_touch(const struct CUstream_st *s, const struct cu_op *op, const struct cu_touch *t,
		   char *text, size_t size);
void cu_race_freed(uint64_t allocation);
void cu_race_launched(const struct cu_launched *launched);

/* ---- handles that are alive (cu_handle.c) ---- */

enum cu_kind { CU_STREAM = 1, CU_EVENT, CU_MODULE, CU_FUNCTION, CU_POOL, CU_GRAPH, CU_EXEC };

void cu_handle_add(enum cu_kind kind, const void *handle);
void cu_handle_remove(const void *handle);
bool cu_handle_ok(enum cu_kind kind, const void *handle);

/* ---- contexts (cu_context.c) ---- */

struct CUctx_st {
	int device;
	unsigned refs, flags;
	bool live;
	int fault;	     /* sticky CUresult; atomic */
	volatile int cancel; /* kernels are to end: the context goes away */
	struct CUstream_st *streams, *legacy;
	struct CUmod_st *modules;
	struct CUevent_st *events;
	struct CUgraph_st *graphs;
	struct CUgraphExec_st *execs;
};

/* Both begin every call: refresh the control file, return an injected error; the
 * second wants a current live context without a fault. */
CUresult cu_enter(const char *function);
CUresult cu_enter_context(const char *function, struct CUctx_st **out);
struct CUctx_st *cu_context_of(int device);
bool cu_device_ok(int device);
/* Of a GPU that is cut into slices a process sees one, the first that its list of visible devices
 * names; it has its share of the memory and multiprocessors, and tells the whole one's bandwidth.
 */
void cu_device_slice(void);
bool cu_device_reaches(int device, int other); /* it may use the other one's memory */
void cu_set_fault(struct CUctx_st *c, int fault, const char *text);
bool cu_sticky(int error);
void *cu_alloc(size_t bytes); /* zeroed, never NULL */

/* ---- memory (cu_memory.c), pools (cu_pool.c) ---- */

/* Whoever uses host pointers of device memory holds it: no page goes away. */
void cu_memory_hold(void);
void cu_memory_release(void);
bool cu_memory_translate(void *data, uint64_t address, size_t n, struct ptx_range *out);
void cu_memory_describe(void *data, uint64_t address, char *text, size_t cap);
/* Whose memory lies there; -1: none.  May this device not use it? */
int cu_memory_device(uint64_t address);
bool cu_memory_foreign(int device, uint64_t address);
/* Host bytes behind [address, address + n), NULL: not all in one live allocation. */
char *cu_memory_host(uint64_t address, size_t n);
/* The same of bytes that are to be written: NULL where they may only be read, too. */
char *cu_memory_target(uint64_t address, size_t n);
/* Allocates; pool may be NULL; unborn memory is not there until cu_memory_birth. */
CUresult cu_memory_make(struct CUctx_st *c, size_t bytes, struct CUmemPoolHandle_st *pool,
			bool unborn, CUdeviceptr *out);
void cu_memory_birth(CUdeviceptr address);
/* Does a pool's memory lie there? */
bool cu_memory_pooled(uint64_t address);
void cu_memory_free(CUdeviceptr address);
bool cu_memory_pinned(const void *host, size_t n);
/* Why pinned memory cannot be copied through; NULL: it can. */
const char *cu_memory_unfit(const void *host, size_t n);
void cu_memory_free_all(int device);
uint64_t cu_memory_used(int device);
/* Of cu_mapping.c, with cu_lock held: addresses that nothing has had; bytes that the device must
 * give (false: it has not as many), and gets back; what lies at addresses, from when on it may be
 * used, and how. */
uint64_t cu_memory_addresses(int device, uint64_t bytes, uint64_t alignment);
bool cu_memory_take(struct CUctx_st *c, uint64_t bytes);
void cu_memory_give(int device, uint64_t bytes);
void cu_memory_map(uint64_t address, size_t bytes, char *host, int device);
void cu_memory_allow(uint64_t address, int device, bool write);
void cu_memory_unmap(uint64_t address);

struct CUmemPoolHandle_st {
	int device;
	uint64_t used, used_high, reserved, reserved_high, threshold, most;
	int reuse[3];
	bool live;
	struct CUmemPoolHandle_st *next;
};
/* With cu_lock held.  How many bytes more the device must give. */
uint64_t cu_pool_growth(const struct CUmemPoolHandle_st *p, uint64_t bytes);
void cu_pool_take(struct CUmemPoolHandle_st *p, uint64_t bytes);
void cu_pool_give(struct CUmemPoolHandle_st *p, uint64_t bytes);
uint64_t cu_pool_reserved(int device);
void cu_pool_free_all(int device);
void cu_pool_synchronized(int device);

/* ---- operations (cu_op.c), streams (cu_stream.c), events (cu_event.c) ---- */

enum cu_op_kind {
	OP_COPY_MEMORY,
	OP_FILL,
	OP_KERNEL,
	OP_HOST_CALL,
	OP_LIBRARY, /* of cu_private.h: a host call that may use device memory */
	OP_RECORD,
	OP_WAIT_EVENT,
	OP_WAIT_STREAM,
	OP_BIRTH,
	OP_RELEASE,
	OP_END
};

struct cu_op {
	enum cu_op_kind kind;
	struct cu_op *next;
	CUdeviceptr to, from; /* unless the host's are given */
	void *to_host;
	const void *from_host;
	void *owned; /* a staged source, or a kernel's parameters */
	size_t bytes;
	bool pinned;	/* the host's memory is, and must stay so */
	bool peer;	/* a copy between two devices */
	uint32_t value; /* fill */
	unsigned width; /* bytes of one element */
	struct CUfunc_st *function;
	struct ptx_launch launch;
	CUhostFn call;
	void *data;
	struct CUevent_st *event;  /* held */
	struct CUstream_st *other; /* held */
	uint64_t sequence;
	struct cu_injected injected;
	double asked_ms;	      /* the host's clock when it was queued */
	uint64_t accessed;	      /* bytes of device memory that the kernel read and wrote */
	struct cu_past queued;	      /* what the caller had waited for */
	struct cu_launched *launched; /* held: the launch of a graph that it is a node of */
	unsigned node;
	struct cu_touch *touch; /* what a kernel or a library touched, once it has been executed */
	unsigned ntouch, touch_cap;
};

struct cu_op *cu_op_new(enum cu_op_kind kind);
struct cu_op *cu_op_clone(const struct cu_op *op);
void cu_op_delete(struct cu_op *op);
/* Executes it, and then tells its event, if it records one. */
void cu_op_execute(struct CUstream_st *s, struct cu_op *op);
const char *cu_op_name(const struct cu_op *op);
/* The operation `data` has touched these bytes of an allocation. */
void cu_op_touched(void *data, uint64_t allocation, uint64_t lo, uint64_t hi, bool write);
extern _Thread_local struct cu_op *cu_op_library; /* the OP_LIBRARY that is executed */

struct CUstream_st {
	struct CUctx_st *context;
	struct CUstream_st *next; /* of the context's */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work, progress;
	struct cu_op *head, *tail;
	uint64_t submitted, done;
	double ms; /* cu_clock.c's */
	unsigned flags, refs;
	int priority;
	int slot; /* its place in pasts; -1: none */
	struct cu_past past;
	bool ended;
	struct CUgraph_st *capture; /* recording instead of executing */
};

/* NULL and the constants mean the legacy stream; NULL result: no such stream. */
struct CUstream_st *cu_stream_of(struct CUctx_st *c, CUstream handle);
/* Takes op; executes it in order, or records it while the stream is captured. */
void cu_stream_push(struct CUstream_st *s, struct cu_op *op);
void cu_stream_drain(struct CUstream_st *s, uint64_t sequence);
void cu_stream_drain_all(struct CUctx_st *c);
void cu_stream_end_all(struct CUctx_st *c);
void cu_stream_release(struct CUstream_st *s);
/* The stream of a call, or an error. */
CUresult cu_stream_find(struct CUctx_st *c, CUstream handle, struct CUstream_st **out);

struct CUevent_st {
	struct CUctx_st *context;
	struct CUevent_st *next;
	pthread_mutex_t lock;
	pthread_cond_t done_changed;
	uint64_t recorded, done; /* numbers of records asked for and reached */
	double ms;		 /* when the last was reached */
	struct cu_past past;	 /* of its stream then */
	unsigned flags, refs;
};

/* At a time, behind the operations that are in `past`. */
void cu_event_reach(struct CUevent_st *e, uint64_t sequence, double ms, const struct cu_past *past);
double cu_event_ms(struct CUevent_st *e); /* when the last was reached */
void cu_event_wait(struct CUevent_st *e, uint64_t sequence, const volatile int *cancel);
void cu_event_release(struct CUevent_st *e);
void cu_event_free_all(struct CUctx_st *c);

/* ---- time (cu_clock.c) ---- */

/* The operation has been executed: when it ended. */
double cu_clock_pass(struct CUstream_st *s, const struct cu_op *op);
double cu_clock_host(void);
void cu_clock_waited(double ms);		 /* the host has waited until then */
double cu_clock_of(const struct CUstream_st *s); /* when what it has executed ended */

/* ---- modules (cu_module.c), graphs (cu_graph.c) ---- */

struct CUfunc_st {
	struct CUmod_st *module;
	struct CUfunc_st *next;
	struct ptx_function *kernel;
	int max_dynamic;
};

struct CUmod_st {
	struct CUctx_st *context;
	struct CUmod_st *next;
	struct ptx_module *ptx;
	struct CUfunc_st *functions;
	CUdeviceptr *variables; /* storage of its variables */
	size_t nvariables;
};

void cu_module_free_all(struct CUctx_st *c);
/* Checks a launch and makes its operation. */
CUresult cu_launch_make(CUfunction f, const struct ptx_launch *launch, void **params, void **extra,
			struct cu_op **out);
struct ptx_host cu_launch_host(struct CUctx_st *c, struct cu_op *op);
const char *cu_launch_name(const struct cu_op *op);

void cu_graph_record(struct CUgraph_st *g, struct cu_op *op);
struct CUgraph_st *cu_graph_new(struct CUctx_st *c);
void cu_graph_free_all(struct CUctx_st *c);
void cu_launched_release(struct cu_launched *l);
/* Does node a come before node b by the graph's edges? */
bool cu_launched_before(const struct cu_launched *l, unsigned a, unsigned b);

#endif
