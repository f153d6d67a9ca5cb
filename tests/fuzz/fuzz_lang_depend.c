/* SPDX-License-Identifier: Apache-2.0 */
/* Dependence between turns of loops, against enumeration of every pair of turns. */
#include "nest_of.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	unsigned unknown = 0;

	nest_check(&in, &unknown);
	return 0;
}
