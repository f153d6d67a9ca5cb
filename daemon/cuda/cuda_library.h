/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_library.h - a library of NVIDIA's, loaded at run time.
 *
 * The newest that the driver takes; where that one does not load, or lacks a function, the next.
 * Who names one, by the variable, has that one or none; an empty name wants none.  Once loaded a
 * library stays, as the driver does.  Any thread that does not change the environment meanwhile. */
#ifndef BRAZE_CUDA_LIBRARY_H
#define BRAZE_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct cuda_library {
	const char *topic, *called; /* in the log: "cuda_fft", "cuFFT" */
	const char *variable;
	const char *const *names; /* of its file, the newest first; ends with NULL */
	bool whole;		  /* all that it needs is looked for at once */
};

struct cuda_symbol {
	const char *name;
	void *to; /* a pointer to a function */
};

/* With all of these functions; NULL: there is none, and the pointers are anything. */
void *cuda_library_load(const struct cuda_library *wanted, const struct cuda_symbol *symbol,
			size_t n);

#endif
