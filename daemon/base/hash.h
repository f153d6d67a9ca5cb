/* SPDX-License-Identifier: Apache-2.0 */
/* base/hash.h - a fast 64-bit hash to find buckets; never proof of equality. */
#ifndef BRAZE_HASH_H
#define BRAZE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* data may be NULL where n is 0. */
uint64_t hash_bytes(const void *data, size_t n, uint64_t seed);

#endif
