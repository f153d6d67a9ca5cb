/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - one thread executing one block after the other.
 *
 * All lanes of a block advance together: an instruction's function goes over the
 * active lanes, which run_block.c chooses.  A fault is noted by run_fault and ends
 * the block before its next instruction. */
#ifndef STANDIN_RUN_H
#define STANDIN_RUN_H

#include "ptx_module.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;
typedef unsigned __int128 u128;
typedef __int128 s128;

enum lane_state { LANE_READY, LANE_BARRIER, LANE_WARP, LANE_DONE };

#define RUN_RANGES  4
#define RUN_TOUCHED 256 /* instructions of a launch that are watched; a power of two */

/* What an instruction touched of an allocation: [lo, hi). */
struct run_touched {
	u64 allocation, lo, hi;
	u32 pc;
	bool used, write;
};

/* Buffers of one running thread, kept by the function for its next launch. */
struct run_space {
	struct run_space *next;
	unsigned lanes, block[3], grid[3], dynamic_shared, sms;
	bool presets_valid;
	size_t shared_bytes, shadow_bytes, file_bytes;
	char *file;	  /* registers: lane arrays */
	char *call_space; /* [lane][module.call_bytes] */
	char *local;	  /* [lane][local_bytes] */
	char *shared;
	u32 *written, *read;   /* race shadow of each shared byte: epoch, warp */
	u64 *address;	       /* [lane]: of the current access */
	char **pointer;	       /* [lane]: the same in host memory */
	u64 *wide;	       /* [lane]: values between two steps of an instruction */
	u32 *pc, *ret;	       /* [lane], [function][lane] */
	u8 *state;	       /* [lane]: enum lane_state */
	u16 *active, *guarded; /* lane numbers */
	u32 epoch;	       /* between two barriers; part of the shadow */
};

struct run {
	struct run_space *space;
	char *file; /* the space's, here since every instruction needs it */
	unsigned lanes;
	/* Lanes of the current instruction: index[0..count), or, when index is NULL,
	 * first .. first + count. */
	unsigned first, count;
	const u16 *index;
	u32 pc; /* of the current instruction */
	const struct ptx_function *f;
	const struct ptx_module *m;
	const struct ptx_host *host;
	const struct ptx_launch *launch;
	size_t local_bytes;
	unsigned cta[3];
	struct ptx_range range[RUN_RANGES]; /* allocations met in this block */
	unsigned nranges;
	struct run_touched touched[RUN_TOUCHED];
	u64 instructions; /* of this block */
	u64 total;
	u64 bytes; /* of device memory that its lanes have accessed */
	struct ptx_report *report;
	const int *stop; /* another thread of this launch has faulted */
};

/* Lane array of a register. */
#define REG(T, offset) ((T *)(void *)(r->file + (size_t)(offset)*r->lanes))

/* Executes the statements for every active lane l. */
#define LANES(...)                                                                                 \
	do {                                                                                       \
		if (!r->index) {                                                                   \
			const unsigned end_ = r->first + r->count;                                 \
			_Pragma("GCC ivdep") for (unsigned l = r->first; l < end_; l++)            \
			{                                                                          \
				__VA_ARGS__                                                        \
			}                                                                          \
		} else {                                                                           \
			for (unsigned k_ = 0; k_ < r->count; k_++) {                               \
				const unsigned l = r->index[k_];                                   \
				__VA_ARGS__                                                        \
			}                                                                          \
		}                                                                                  \
	} while (0)

/* Function name_T: a result from one, two, three sources of type T. */
#define UNARY(name, T, ...)                                                                        \
	static void name##_##T(struct run *r, const struct ptx_ins *i)                             \
	{                                                                                          \
		T *d = REG(T, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]);                                                      \
		LANES(d[l] = (T)(__VA_ARGS__););                                                   \
	}
#define BINARY(name, T, ...)                                                                       \
	static void name##_##T(struct run *r, const struct ptx_ins *i)                             \
	{                                                                                          \
		T *d = REG(T, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]);                                \
		LANES(d[l] = (T)(__VA_ARGS__););                                                   \
	}
#define TERNARY(name, T, ...)                                                                      \
	static void name##_##T(struct run *r, const struct ptx_ins *i)                             \
	{                                                                                          \
		T *d = REG(T, i->d[0]);                                                            \
		const T *a = REG(T, i->s[0]), *b = REG(T, i->s[1]), *c = REG(T, i->s[2]);          \
		LANES(d[l] = (T)(__VA_ARGS__););                                                   \
	}

/* The first fault of a launch stays; lane: of the block. */
void run_fault(struct run *r, enum ptx_fault fault, unsigned lane, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool run_stopped(const struct run *r);

static inline u64 run_get(const struct run *r, u32 offset, unsigned bytes, unsigned lane)
{
	switch (bytes) {
	case 1:
		return REG(u8, offset)[lane];
	case 2:
		return REG(u16, offset)[lane];
	case 4:
		return REG(u32, offset)[lane];
	default:
		return REG(u64, offset)[lane];
	}
}

static inline unsigned run_lane(const struct run *r, unsigned k)
{
	return r->index ? r->index[k] : r->first + k;
}

/* run_block.c: every lane of the block from entry to exit. */
void run_block(struct run *r);

/* What executes an instruction; NULL: not of this file, or no such type. */
ptx_exec *run_int_find(const struct ptx_ins *i);
ptx_exec *run_bits_find(const struct ptx_ins *i);
ptx_exec *run_float_find(const struct ptx_ins *i);
ptx_exec *run_half_find(const struct ptx_ins *i);
ptx_exec *run_compare_find(const struct ptx_ins *i);
ptx_exec *run_convert_find(const struct ptx_ins *i);
ptx_exec *run_memory_find(const struct ptx_ins *i);
ptx_exec *run_atomic_find(const struct ptx_ins *i);
ptx_exec *run_warp_find(const struct ptx_ins *i);

/* run_access.c: fills space->pointer[lane] for an access of bytes at base + imm by
 * every active lane; false after a fault. */
bool run_access(struct run *r, const struct ptx_ins *i, unsigned bytes, bool write, bool atomic);

#endif
