/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit.h - a canonical nest as source text.
 *
 * Pure.  Everything was decided before (loop order, vector width, walks): an
 * emitter only spells.  No text of a client's ever reaches the source. */
#ifndef BRAZE_EMIT_H
#define BRAZE_EMIT_H

#include "call/call.h"
#include "form/nest.h"
#include "lang/lang_grid.h"

/* C for loops/kernel_abi.h; *out is malloc'ed.  The text is complete but for the
 * prologue (kernels/pre.h), which emit_c_prologue() gives. */
enum status emit_c(char **out, const struct nest *spec, struct err *err) MUST_USE;
const char *emit_c_prologue(void);
/* Changes whenever generated text or its meaning may: part of the cache's key. */
#define EMIT_GENERATION 20

/* CUDA C++ for contract/cuda_abi.h, prologue and all; *out is malloc'ed.  The text is
 * the same for every GPU. */
enum status emit_cuda_source(char **out, const struct nest *spec, struct err *err) MUST_USE;
const char *emit_cuda_prologue(void);
/* Entry bz_matmul of contract/cuda_abi.h for this element type. */
enum status emit_cuda_matmul(char **out, unsigned dtype, struct err *err) MUST_USE;
/* A library step: that entry, or bz_call and those behind it. */
enum status emit_cuda_call(char **out, const struct call_kind *c, struct err *err) MUST_USE;
/* A loop of a user's kernel (lang/lang_grid.h): entry bz_grid. */
struct lang_grid;
enum status emit_cuda_grid(char **out, const struct lang_grid *g, struct err *err) MUST_USE;
/* All that such texts are made of but for what is one kernel's: who keeps code tells by it whether
 * it is still good.  malloc'ed. */
char *emit_cuda_shared(void);
#define EMIT_CUDA_GENERATION 19

/* Has the text this entry (enum cuda_entry)?  bz_map it always has, that of a reduction
 * bz_reduce_warp and bz_finish. */
bool emit_cuda_has(const struct nest *spec, unsigned entry);
/* Which entry points the text can have beside those that every nest has. */
/* Points of one access of bz_map_vector; 0: there is no such entry. */
unsigned emit_cuda_vector(const struct nest *spec);
/* Vectors that a thread of bz_map_vector has in flight. */
unsigned emit_cuda_flight(const struct nest *spec);
/* Points of a thread of bz_map_row, 32 apart; 0: there is no such entry. */
unsigned emit_cuda_row(const struct nest *spec);
/* bz_map_tile? */
bool emit_cuda_tile(const struct nest *spec);
/* Accesses that it can read through shared memory: a bit for each. */
uint32_t emit_cuda_staged(const struct nest *spec);
/* bz_reduce_thin? */
bool emit_cuda_reduce_thin(const struct nest *spec);
/* Reduced points of one access of bz_reduce_vector; 0: there is no such entry. */
unsigned emit_cuda_reduce_vector(const struct nest *spec);
/* The _narrow ones? */
bool emit_cuda_narrow(const struct nest *spec);

#endif
