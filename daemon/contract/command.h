/* SPDX-License-Identifier: Apache-2.0 */
/* contract/command.h - what the broker and a worker say to each other.
 *
 * Packets on a SOCK_SEQPACKET socketpair between parent and child of one build:
 * C structs, host order, at most COMMAND_BYTES each.  To a GPU's worker up to COMMAND_HELD
 * commands without a file go in front of another, in one packet.  The worker completes each
 * client's CMD_RUN in order.  Only completions and the progress page come back; nothing a
 * worker says is trusted further than its own client's results. */
#ifndef BRAZE_COMMAND_H
#define BRAZE_COMMAND_H

#include <stdatomic.h>

#include "form/nest.h"
#include "cuda_abi.h"

/* Ids of regions in the memory of a device begin here. */
#define DEVICE_REGION 0x80000000u

#define COMMAND_BYTES (160 * 1024) /* a longer run is sent as several */
#define COMMAND_HELD  64

/* Ticket of a CMD_RUN: the job in the upper bits, its packets counted in the lower
 * 24.  CMD_CANCEL names a job by any of its tickets. */
#define TICKET_SHIFT  24
#define TICKET_JOB(t) ((t) >> TICKET_SHIFT)

enum command_kind {
	CMD_REGION = 1,	   /* + fd: map it; id, bytes */
	CMD_DEVICE_REGION, /* id; arg: bytes; ticket: client: memory of the device.  One that
			      cannot be had fails the runs that name it (E_NOMEM) */
	CMD_DEVICE_EXPORT, /* id: of such a region; ticket: a number: its memory is to be had by a
			      descriptor, once all that was sent before is done; answered by
			      DONE_EXPORT with the same ticket */
	CMD_DEVICE_IMPORT, /* + fd, as it came with a DONE_EXPORT of another device's worker; id;
			      ticket: client; arg: bytes; peer: that device's number in the
			      driver.  Its memory becomes such a region, until it is dropped.
			      One that cannot be had fails the runs that name it */
	CMD_DEVICE_CLEAR,  /* id: of such a region all bytes are 0 before the client's next run */
	CMD_RELEASE,	   /* id; ticket: offset, arg: bytes: that memory is going to be given
			      back, so let go of its pages; answered by DONE_RELEASE with the
			      same id, ticket and arg.  Not to the CPU's worker, which holds none */
	CMD_REGION_DROP,   /* id: unmap or free, when the client's runs sent before are done */
	CMD_KERNEL,	   /* id; a canonical struct nest follows: interpret it */
	CMD_CODE,	   /* id; + fd of a shared object: run this from now on */
	CMD_KERNEL_DROP,   /* id */
	CMD_RUN,	   /* struct command_run */
	CMD_CANCEL,	   /* ticket: its job's runs, sent or running, end with E_CANCELLED */
	CMD_PING,	   /* answered by DONE_PONG with the same ticket */
	DONE_RUN,	   /* struct command_done */
	DONE_PONG,
	DONE_RELEASE,
	DONE_CODE,    /* id: status tells whether the object loaded */
	DONE_HELLO,   /* struct command_hello: once, before anything else */
	CMD_GEOMETRY, /* id; GPUs: struct cuda_geometry[] follow, as they came with
			 DONE_GEOMETRY of an earlier worker; arg not 0: no trials of this
			 kernel, it has ended a worker in one */
	DONE_EXPORT,  /* struct command_export */
	DONE_GEOMETRY /* struct command_geometry: a kernel has a new one */
};

struct command {
	uint32_t kind;
	uint32_t bytes; /* of the whole packet */
	uint64_t ticket;
	uint32_t id;
	uint32_t peer; /* of CMD_DEVICE_IMPORT */
	uint64_t arg;
};

/* What a worker's device is.  status other than OK: it cannot be used, text tells
 * why and what to do; the worker then ends.  Where that may pass, the broker starts another
 * one later. */
struct command_hello {
	struct command head;
	uint32_t status;
	uint32_t arch;	       /* its code (backend.h); 0: the processor's */
	uint64_t memory_bytes; /* of the device; 0: the host's */
	uint32_t units;	       /* multiprocessors, or threads */
	uint32_t double_ratio; /* of its rates in single and double precision; 0: unknown */
	uint64_t memory_rate;  /* bytes a second of its memory; 0: unknown */
	uint32_t driver;       /* version of its driver, 12040 for CUDA 12.4; 0: unknown */
	uint32_t again;	       /* status: not 0: it may be there later */
	uint32_t exports;      /* other processes may have its memory */
	uint32_t fourier;      /* it has a library of Fourier transforms */
	uint32_t factors;      /* it has a library of factors of matrices */
	uint32_t pad;
	uint64_t peers; /* bit n: it can read the memory of the driver's device n */
	char uuid[48];	/* "GPU-..." as the driver's tools write it; "": unknown */
	char name[64];
	char text[LIMIT_ERROR_TEXT];
};

/* The geometry of a kernel's launches of one size, from now on.  Its state tells whether
 * it is the model's or that of trials; trials made for it, and what they took. */
struct command_geometry {
	struct command head;
	uint64_t trials, tuning_ns;
	struct cuda_geometry geometry;
};

/* The memory's descriptor comes with it, unless status says why there is none; arg: how many bytes
 * it has. */
struct command_export {
	struct command head;
	uint32_t status; /* enum status */
	uint32_t pad;
	char text[LIMIT_ERROR_TEXT];
};

/* A place in a region. */
struct command_place {
	uint32_t region;
	uint32_t pad;
	uint64_t offset;
};

/* Bytes of a region. */
struct command_range {
	uint64_t offset, bytes;
};

enum run_rank {
	RANK_ALONE, /* nothing else was sent and not answered */
	RANK_WAITS, /* behind another */
	RANK_FIRST  /* goes before other clients' that wait */
};

/* Behind struct command of CMD_RUN: nstep steps, then nfetch fetches. */
struct command_run {
	struct command head;
	uint64_t client; /* runs of one client are done in order */
	uint32_t nstep, nfetch;
	uint32_t alone; /* one step at a time: a death is to show which it was */
	uint32_t rank;	/* enum run_rank; GPUs' workers do not look at it */
};

/* Index of a copy: it belongs to no step of the plan. */
#define STEP_INDEX_COPY UINT16_MAX

/* One step, or a slice of one.  Behind it, in this order, packed:
 *   command_place base[naccess]        address of point [0,...,0]
 *   int64_t       extent[npar + nred]
 *   int64_t       stride[naccess][8]
 *   uint64_t      scalar[nscalar][2]
 *   int64_t       gather[ngather][2]  steps of a gather, their bytes
 * or, for STEP_CALL, base[naccess], a struct plan_call and
 *   uint64_t      scalar[nscalar of it][2]   as union lang_reg has them
 *   command_grid                             of a loop of a kernel (call/grid.h), to the CPU's
 * worker for STEP_COPY, base[2]: bytes [lo, hi) of the first place go to the same bytes of the
 * second. */
struct command_step {
	uint32_t bytes; /* of the step with what follows it */
	uint8_t kind;	/* enum step_kind */
	uint8_t split;	/* reductions cut by chunks: 1 first slice, 2 last slice, 3 both,
			   4 one in between; 0 not cut by chunks */
	uint16_t index; /* of the step in its plan, for the progress page */
	uint32_t kernel;
	uint16_t naccess, nscalar;
	uint8_t npar, nred, ngather;
	uint8_t whole;	/* all its points or units, however many; hi is not looked at */
	uint16_t shape; /* of the whole step, nest_shape: whose times tell of this one's */
	uint8_t pad2[2];
	uint32_t turn; /* of the job; in a loop the worker counts on from the first one's */
	uint32_t pad3;
	int64_t lo, hi;	  /* parallel points; chunks when split; units of a call
			     (call/call.h); bytes for copies */
	int64_t plo, phi; /* split: the chunks of these points, phi 0: of all */
};

/* A grid (form/grid.h): the device has no code of it. */
struct command_grid {
	uint32_t range, levels, fast, only;
	uint32_t bytes; /* of the text, with the 0 */
	uint32_t sum, keeps;
	char text[];
};

/* Steps to be done several times over, in the place of one of the run's.  Behind it, in this order,
 * packed:
 *   command_place place[nplace][nslot]   of turn t: row t % nplace
 *   uint64_t      imm[nrow][nimm][2]     likewise
 *   command_patch patch[npatch]          for each access of each step
 *   uint32_t      scalar[nscalar]        for each scalar of each step: which of imm; then 4 bytes
 *                                        where nscalar is odd
 *   int64_t       size[turns][nsize]     where nsize is not 0; then
 *   uint8_t       loop[nstep][8]         for each loop of each step: the size that is its extent
 *                                        + 1, or 0
 *   nstep steps, whole, as they are in turn 0 */
struct command_loop {
	uint32_t bytes; /* with all that follows it */
	uint8_t kind;	/* STEP_LOOP */
	uint8_t pad[3];
	uint32_t turns, nstep, nslot, nplace, nimm, nrow, npatch, nscalar, nsize, pad2;
};

/* Where an access is in turn t: offset + t * move bytes behind the slot's place. */
struct command_patch {
	uint32_t slot, pad;
	int64_t offset, move;
};

/* Bytes to send back in the completion (small results). */
struct command_fetch {
	struct command_place place;
	uint32_t bytes; /* <= LIMIT_INLINE_BYTES */
	uint32_t pad;
};

/* A check of a step met a place that its axis does not have. */
struct command_fault {
	uint16_t step, check; /* of the plan; of the step's nest */
	uint32_t turn;	      /* of the job */
	uint64_t key;	      /* bz_fault_key of the place */
};

/* Checks that a packet may make, each in each turn: the completion has room for what all of
 * them find. */
#define COMMAND_FAULTS 1024

/* Behind struct command_done: the fetched bytes, LIMIT_INLINE_BYTES each, then what its
 * checks found.  What a fault spoiled is for the broker to find out: the run went on,
 * with a place that the axis has. */
struct command_done {
	struct command head;
	uint32_t status; /* enum status */
	uint16_t nfetch, nfault;
	uint64_t busy_ns; /* time its kernels ran */
	/* Slices of matrix products by a GPU's library, and by our own kernel. */
	uint32_t library_products, own_products;
	char text[LIMIT_ERROR_TEXT];
};

#define COMMAND_DONE_BYTES                                                                         \
	(sizeof(struct command_done) + 8 * LIMIT_INLINE_BYTES +                                    \
	 COMMAND_FAULTS * sizeof(struct command_fault))

/* Shared read-write page, written by the worker's threads, read by the broker
 * after a death: what each thread was running. */
#define PROGRESS_THREADS 64
#define PROGRESS_SEVERAL UINT32_MAX /* steps of the run at once: any may be to blame */
struct progress {
	volatile uint32_t trial; /* kernel whose geometries are being tried; 0: none */
	uint32_t pad;
	struct {
		volatile uint64_t ticket; /* 0: idle */
		volatile uint32_t step;	  /* or PROGRESS_SEVERAL */
		volatile uint32_t kernel; /* of the CPU's: 0 once a run's steps are done */
		/* Of the CPU's worker, where a row is a thread: its id, 0 as long as it is
		 * not there, and how much it has done, units of work and looks at the socket:
		 * where that does not change, it may hang (run/watch.c). */
		volatile uint32_t tid, turns;
	} thread[PROGRESS_THREADS];
	/* Of a device other than the CPU, for the status page. */
	_Atomic uint64_t registered_bytes; /* of arenas, with its driver, or soon: raised
					      before the run that is the reason is done */
	_Atomic uint64_t beside_steps;	   /* launched beside others, so far */
	_Atomic uint64_t packets;	   /* that came, so far */
	_Atomic uint64_t wakes;		   /* of threads that take part in runs, so far */
};

/* How a GPU's worker ends itself; the page names the suspects. */
enum {
	WORKER_EXIT_FATAL = 3, /* the driver said that the context is lost */
	WORKER_EXIT_HANG = 4   /* the device made no progress, and did not stop */
};

#endif
