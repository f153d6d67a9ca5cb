/* SPDX-License-Identifier: Apache-2.0 */
/* compile/compile.h - what the broker and a compile helper say to each other.
 *
 * Packets on a SOCK_SEQPACKET socketpair between parent and child of one build.
 * A request carries the source text in a sealed memfd, a good reply the shared
 * object, or for a GPU the cubin (PTX for a GPU newer than the compiler), in one.
 * The helper serves one request at a time and ends, with the compiler it runs, when
 * the socket closes.  NVRTC runs inside the helper: its crash is the helper's. */
#ifndef BRAZE_COMPILE_H
#define BRAZE_COMPILE_H

#include "ops.h"
#include "loops/isa.h"

#define COMPILE_MAGIC	    0x425a4343u
#define COMPILE_TIMEOUT_MS  30000 /* that all of it may sleep; waiting for a core is none */
#define COMPILE_CPU_SECONDS 30	  /* of each process of a compilation, of NVRTC's */
#define COMPILE_NICE	    19	  /* of a compiler that nobody waits for */
/* Of one that somebody waits for: beside a job on all cores it has a quarter of one. */
#define COMPILE_NICE_URGENT  5
#define COMPILE_MEMORY_BYTES (4ull << 30)  /* address space of each of them */
#define COMPILE_SOURCE_BYTES (16u << 20)   /* longer sources are refused */
#define COMPILE_OBJECT_BYTES (64ull << 20) /* longer objects are refused */
#define COMPILE_LOG_BYTES    2048	   /* of the compiler's words, with the 0 */
#define COMPILE_PATH_BYTES   512

struct compile_request {
	uint32_t magic;
	uint32_t isa; /* enum isa_level */
	uint64_t ticket;
	uint64_t source_bytes;
	uint32_t timeout_ms;
	uint32_t urgent; /* somebody waits for it: COMPILE_NICE_URGENT */
	uint32_t arch;	 /* for which code (contract/backend.h); 0: C for this processor */
	char compiler[COMPILE_PATH_BYTES]; /* absolute path of the compiler, or of NVRTC */
};

struct compile_reply {
	uint32_t magic;
	uint32_t status; /* enum status: OK with an object, E_COMPILE: the compiler refused,
			    E_TIMEOUT, E_SYSTEM: it could not be run */
	uint64_t ticket;
	uint64_t code_bytes;
	uint64_t compile_ns;
	uint32_t registers, spill_bytes; /* the most of any entry; CUDA only */
	char log[COMPILE_LOG_BYTES];
};

/* compile_target.c */
/* Absolute path of `name`, or of gcc, else clang, when NULL; false: there is none. */
bool compile_target_find(char path[COMPILE_PATH_BYTES], const char *name);
/* Text that changes when the compiler at this path does: real path, size, time. */
void compile_target_identity(char *buf, size_t n, const char *path);

/* compile_wire.c */
/* A sealed read-only memfd with these bytes; E_SYSTEM. */
enum status compile_wire_memfd(int *out, const char *name, const void *data, size_t n,
			       struct err *err) MUST_USE;
/* One packet with at most one descriptor (-1: none).  Returns 0, or -1 with errno. */
int compile_wire_send(int sock, const void *msg, size_t n, int fd);
/* One packet of exactly n bytes; *fd is -1 when none came.  Returns 1; 0 at the end of
 * the stream; -1 with errno (EPROTO: a packet of another form). */
int compile_wire_recv(int sock, void *msg, size_t n, int *fd, int flags);

/* compile_run.c */
struct compile_job {
	const char *compiler, *folder; /* folder is private and exists */
	enum isa_level isa;
	uint32_t timeout_ms;
	bool urgent;
	int watch; /* socket whose end stops the compilation; -1 */
};
/* Compiles source fd into a sealed memfd; `log` gets the compiler's words. */
enum status compile_run(int *out, uint64_t *bytes, const struct compile_job *job, int source,
			char log[COMPILE_LOG_BYTES], struct err *err) MUST_USE;

/* What the helper does for code of a row of contract/backends.def; the reply gets all but its
 * status and times. */
typedef enum status compile_code_fn(int *out, struct compile_reply *r,
				    const struct compile_request *q, int source, struct err *err);

/* compile_nvrtc.c */
compile_code_fn compile_cuda;
/* The options for sources of this compute capability, separated by blanks; part of a
 * cubin's identity.  version: 1000 * major + minor of NVRTC. */
void compile_nvrtc_options(char *buf, size_t n, unsigned arch, bool ptx, int version);
struct compile_nvrtc {
	const char *library;
	unsigned arch;
	uint32_t registers, spill_bytes; /* out */
};
/* As compile_run, in this process; the library stays loaded for the next call. */
enum status compile_nvrtc_run(int *out, uint64_t *bytes, struct compile_nvrtc *job, int source,
			      char log[COMPILE_LOG_BYTES], struct err *err) MUST_USE;

#endif
