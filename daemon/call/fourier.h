/* SPDX-License-Identifier: Apache-2.0 */
/* call/fourier.h - Fourier transforms along one axis as a library step: how they are cut and
 * described.
 *
 * The call's last two loops are the axis as it is read and as it is written, which have different
 * extents where numbers are real; the others count transforms.  Operands: what is read, the result;
 * FOURIER_REAL, which makes real numbers of complex ones, may spoil what it reads: its third
 * operand is the first once more, written. What is read and written are whole elements, and lie
 * apart as fourier_fits says, so that a library can be told of them by a stride along the axis and
 * one from transform to transform.  The loop with most transforms is `together`: a unit of a device
 * is all of that one, a processor's one transform. */
#ifndef BRAZE_FOURIER_H
#define BRAZE_FOURIER_H

#include "call.h"

#define FOURIER_AXES 2 /* loops of the axis */

struct fourier {
	enum op op;
	bool wide;		    /* double precision */
	int64_t n;		    /* length of a transform */
	int64_t extent[2], step[2]; /* of the axis, read and written; bytes */
	unsigned nloop, together; /* loops that count transforms; of those, nloop: there is none */
	const struct plan_call *call;
};

/* Of a call that was checked. */
void fourier_of(struct fourier *out, const struct plan_call *c);
/* Transforms of the loop `together`, and the bytes between two of them, read and written. */
int64_t fourier_batch(const struct fourier *f, int64_t distance[2]);
/* Where unit `unit` of a device, or of the processor, begins in what is read and written: bytes. */
void fourier_unit(int64_t at[2], const struct fourier *f, int64_t unit, bool device);
/* Elements of a type, read and written: real or complex. */
unsigned fourier_bytes(const struct fourier *f, unsigned x);
/* Can a library be told how the first two operands lie?  Loops and strides are those of a call. */
bool fourier_fits(const struct plan_call *c);

#endif
