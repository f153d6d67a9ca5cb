/* SPDX-License-Identifier: Apache-2.0 */
/* form/place.h - which device a plan runs on.
 *
 * In:  what a run would move and compute (struct place_facts), what the device is like
 *      (struct place_device), then what runs have taken.
 * Out: the device of each run, and why, in words.
 *
 * The choice is made from predictions, once for each case of where the inputs lie, and
 * kept with the plan.  Its first runs are measured.  Where they say that the other
 * device may be better, that one is tried for a few runs, and the better of the two
 * measured ones stays: the only time that a choice changes.  So the same program goes
 * the same way in each run of it, but for its first turns.  Pure functions of what
 * they are given. */
#ifndef BRAZE_PLACE_H
#define BRAZE_PLACE_H

#include "ops.h"

#define PLACE_TEXT  288
#define PLACE_AMONG 128
#define PLACE_CPU   1 /* the CPU's number, as struct brazed counts devices */

/* Where the inputs that count lie.  What moves, and for how many runs, depends on it. */
#define PLACE_CASE_TEXTS(X)                                                                        \
	X(HOST, "on the host")                                                                     \
	X(AGAIN, "on the host and read before")                                                    \
	X(BOTH, "on host and device")                                                              \
	X(DEVICE, "on the device")                                                                 \
	X(MIXED, "some on the host, some on the device")
enum place_case {
#define X(id, text) PLACE_##id,
	PLACE_CASE_TEXTS(X)
#undef X
		PLACE_CASES
};

/* What a device other than the CPU is like: what its worker has said, what has been
 * measured since, else an assumption. */
struct place_device {
	uint8_t number; /* above PLACE_CPU */
	const char *name;
	double memory_bytes_us;		   /* of its own memory */
	double up_bytes_us, down_bytes_us; /* to it, from it */
	double math_gain;		   /* arithmetic, against the CPU's as predicted */
	double double_loss;		   /* in double precision: so many times slower */
};

/* Bytes a microsecond of a way between memories: as measured, or assumed where that is 0. */
double place_rate(double measured);
/* Fill in what is assumed where a device says nothing: memory_rate in bytes a second,
 * 0: unknown; units: multiprocessors; ratio: of single to double precision, 0 unknown;
 * up, down: measured bytes a microsecond, 0: not measured. */
void place_describe(struct place_device *d, double memory_rate, uint32_t units, uint32_t ratio,
		    double up, double down);

/* One step, predicted for a device. */
struct place_step {
	uint64_t touched_bytes; /* read and written */
	double math_us;		/* of its arithmetic, as predicted for the CPU */
	uint32_t launches;
	bool product; /* of matrices */
	bool doubles;
};
double place_step_us(const struct place_step *s, const struct place_device *d);

/* ---- Loops of kernels, which their client does unless a GPU is much better ---- */

/* An instruction of one, on one core, until a run was measured. */
#define PLACE_WORK_US 0.0005
/* Before so long was spent on a kernel nobody waits for its code for a GPU. */
#define PLACE_LOOPS_US 200000.0
/* A device must be so much better: what its steps take is not measured. */
#define PLACE_LOOPS_GAIN 2.0
/* A turn that a thread takes longer for stays here: what takes seconds is taken to hang. */
#define PLACE_TURN_US 20000.0

/* One loop as a step of a device. */
struct place_loop {
	double work, turns;   /* instructions; turns that are threads' */
	double touched_bytes; /* of the arrays that it goes through, at most */
	bool doubles;
};

/* A call of a kernel: all its loops. */
struct place_call {
	double work;	    /* instructions, of all loops together */
	double turn_work;   /* of the longest turn */
	double work_us;	    /* an instruction on all threads, as measured; 0: it was not */
	double last_us;	    /* of the last run, of whatever arguments; where nothing was measured */
	double spent_us;    /* of all runs, so far */
	uint32_t threads;   /* that the loops have here */
	double up_bytes;    /* to the device, that are not there */
	double down_bytes;  /* from it, that are wanted here afterwards */
	double fetch_bytes; /* from it, if the call is done here */
	double whole_bytes; /* that must be there at once, ... */
	double capacity;    /* ... and what the device has for them */
	double loops_us;    /* place_loop_us of them all */
};

/* A call's instruction on one core: as measured, at least PLACE_WORK_US. */
double place_work_us(const struct place_call *c);
/* A loop on the device, whose instructions take so long on a core. */
double place_loop_us(const struct place_loop *l, const struct place_device *d, double work_us);

enum place_verdict {
	PLACE_LOOPS_THERE,
	PLACE_LOOPS_SOON, /* too little was spent on the kernel so far */
	PLACE_LOOPS_ROOM, /* the device has none */
	PLACE_LOOPS_LONG, /* turns take long */
	PLACE_LOOPS_HERE  /* this is not so much slower */
};
/* Where the call goes; *here, *there: what it takes, in microseconds. */
enum place_verdict place_loops(double *here, double *there, const struct place_call *c,
			       const struct place_device *d);

/* What a run on the device would take beside one on the CPU. */
struct place_facts {
	enum place_case where;
	uint64_t upload_bytes, download_bytes;
	uint64_t peer_bytes;  /* that come from other devices ... */
	double peer_us;	      /* ... by the cheapest way */
	uint64_t fetch_bytes; /* that the CPU would have to fetch from the device */
	uint32_t copies;      /* that carry upload_bytes and download_bytes */
	uint32_t launches;
	double cpu_us;	 /* of the steps on the CPU: measured, or predicted */
	double steps_us; /* of the steps on the device: measured, or place_step_us */
	bool compiled;	 /* every kernel for the device is there */
};

enum place_state {
	PLACE_OPEN,	/* not chosen: the device's kernels are being compiled */
	PLACE_MEASURED, /* chosen; its first runs are being measured */
	PLACE_TRIED,	/* the other device is tried */
	PLACE_FINAL	/* nothing changes it any more */
};

/* What is remembered with a plan, for each case. */
struct place {
	uint8_t state;		  /* enum place_state */
	uint8_t device;		  /* of the last run that was chosen; 0: none was */
	uint8_t first;		  /* that predictions chose ... */
	uint8_t other;		  /* ... and that they did not */
	uint8_t corrected;	  /* measured times have changed it */
	uint8_t wants;		  /* the device's kernels should be compiled now */
	uint8_t seen;		  /* measured runs in this state */
	double device_us, cpu_us; /* when it was chosen: predicted for each */
	double fetch_us;	  /* of cpu_us, what is no work of the CPU's worker */
	double best_us, first_us; /* measured in this state; before the trial */
	char text[PLACE_TEXT];	  /* why */
};

/* Microseconds until the operands are on the device and the results back. */
double place_move_us(const struct place_facts *f, const struct place_device *d);
/* Microseconds of a run on the device; of one on the CPU. */
double place_device_us(const struct place_facts *f, const struct place_device *d);
double place_cpu_us(const struct place_facts *f, const struct place_device *d);
/* Choose for this run: PLACE_CPU or d->number. */
uint8_t place_choose(struct place *p, const struct place_facts *f, const struct place_device *d);
/* With loops of kernels, which their client has sent to the device, it goes there. */
uint8_t place_send(struct place *p, const struct place_facts *f, const struct place_device *d);
/* A run that was chosen has kept its device's worker busy for so long. */
void place_measured(struct place *p, double us, uint8_t device, const char *name);
/* It cannot run on the device, and why; for_good: nor later. */
void place_refuse(struct place *p, bool for_good, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
