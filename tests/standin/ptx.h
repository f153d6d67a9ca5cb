/* SPDX-License-Identifier: Apache-2.0 */
/* ptx.h - PTX text into a module, kernels of it into results in host memory.
 *
 * In: what NVRTC emits for compute_75 and later, as text; at a launch, a grid and a
 * packed parameter buffer.  Out: what the kernel stores, or the first fault with its
 * place.  Device memory is a separate address space: every global access goes
 * through ptx_host.
 *
 *   text -> ptx_lex.c -> ptx_parse.c (directives, symbols), ptx_ins.c (instructions)
 *        -> ptx_bind.c (the function that executes each one; unknown ones refused)
 *        -> run_launch.c (blocks to threads) -> run_block.c (lanes of one block)
 *        -> run_int.c, run_float.c, run_bits.c, run_convert.c, run_memory.c, ...
 *
 * Ownership: a module owns its functions; the host owns the storage of the module's
 * variables.  Threads: a loaded module may be launched from several threads. */
#ifndef STANDIN_PTX_H
#define STANDIN_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_module;
struct ptx_function;

/* Faults have the driver's numbers. */
enum ptx_fault {
	PTX_OK = 0,
	PTX_ILLEGAL_ADDRESS = 700,
	PTX_TIMEOUT = 702, /* cancelled, or more instructions than allowed */
	PTX_ASSERT = 710,
	PTX_MISALIGNED = 716,
	PTX_FAILED = 719, /* trap, barrier divergence, race in shared memory */
};

/* One allocation of the device and where its bytes are. */
struct ptx_range {
	uint64_t lo, hi; /* device addresses [lo, hi) */
	char *host;	 /* byte at lo */
	bool fixed;	 /* it may be read only */
};

struct ptx_host {
	void *data;
	/* The live allocation that holds all of [address, address + n); false: none. */
	bool (*translate)(void *data, uint64_t address, size_t n, struct ptx_range *out);
	/* What is at an address that translate refused, for a message. */
	void (*describe)(void *data, uint64_t address, char *text, size_t cap);
	/* At the end: bytes [lo, hi) of an allocation that were read, or written; or NULL.
	 * One call at a time. */
	void (*touched)(void *data, uint64_t allocation, uint64_t lo, uint64_t hi, bool write);
	/* Zeroed storage of a module's variable; 0: none left.  Freed by the host. */
	uint64_t (*allocate)(void *data, size_t n, char **host);
	const volatile int *cancel; /* stop running kernels when nonzero; or NULL */
	uint64_t max_instructions;  /* of one block; 0: any */
	unsigned seed;		    /* order of blocks; 0: ascending */
	unsigned threads;	    /* that share a launch's blocks */
	unsigned sms;		    /* multiprocessors that a kernel may ask about */
	bool race;		    /* watch shared memory for races between warps */
};

struct ptx_launch {
	unsigned grid[3], block[3];
	unsigned dynamic_shared;
	const void *params; /* ptx_param_bytes */
};

struct ptx_report {
	enum ptx_fault fault;
	uint64_t instructions; /* each counted once for all lanes that took part */
	uint64_t bytes;	       /* of device memory, that lanes read and wrote */
	char text[512];	       /* of a fault: kernel, line, block, lane, address */
};

/* NULL with a text in log when the PTX is refused. */
struct ptx_module *ptx_load(const char *text, const struct ptx_host *host, char *log, size_t cap);
void ptx_unload(struct ptx_module *m);
/* Highest compute capability the module asks for (.target sm_90: 90). */
int ptx_target(const struct ptx_module *m);

struct ptx_function *ptx_find_kernel(struct ptx_module *m, const char *name);
/* Address of a module's variable, 0 when there is none. */
uint64_t ptx_find_variable(const struct ptx_module *m, const char *name, size_t *bytes);

const char *ptx_kernel_name(const struct ptx_function *f);
size_t ptx_param_count(const struct ptx_function *f);
void ptx_param(const struct ptx_function *f, size_t i, size_t *offset, size_t *bytes);
size_t ptx_param_bytes(const struct ptx_function *f);
size_t ptx_shared_bytes(const struct ptx_function *f); /* static */
size_t ptx_local_bytes(const struct ptx_function *f);
unsigned ptx_max_threads(const struct ptx_function *f); /* .maxntid; 0: not given */
unsigned ptx_register_count(const struct ptx_function *f);

/* Runs a kernel to its end; the launch's limits have been checked. */
void ptx_run(struct ptx_function *f, const struct ptx_host *host, const struct ptx_launch *launch,
	     struct ptx_report *report);

#endif
