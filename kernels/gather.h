/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/gather.h - indices that come from data, after ew.h and f16.h in every prologue.
 *
 * In: places along an axis, 64-bit integers that anybody may have written.  Out:
 * bz_index_i64, a place counted from the front; bz_fault, which reports those that
 * the axis does not have; bz_ldg_<t>, the elements at the places.  A place is
 * limited to the axis after it was fetched for the last time, so that nothing
 * outside is read, whatever memory holds by then.
 *
 * A source may first define BZ_NO_GATHER, which leaves it all out.
 *
 * A word of error takes the smallest report, which tells the wrong place: positive
 * ones come before negative ones.  All bits set: there is none. */
#ifndef BZ_GATHER_H
#define BZ_GATHER_H

#if !defined(BZ_ONLY_NARROW) && !defined(BZ_NO_GATHER)
BZ_FN bz_i64 bz_index_i64(bz_i64 place, bz_i64 size)
{
	return (bz_i64)((bz_u64)place + ((bz_u64)size & (bz_u64)(place < 0)));
}

__attribute__((noinline, cold, unused)) static void bz_fault_put(bz_s_u64 *error, bz_i64 place,
								 bz_i64 bad, int n)
{
	for (int i = 0; i < n; i++) {
		bz_s_u64 key = (bz_s_u64)place[i] - 1, old = __atomic_load_n(error, 0);

		while (bad[i] && key < old &&
		       !__atomic_compare_exchange_n(error, &old, key, 0, 0, 0))
			;
	}
}

/* Lanes [0, n) of what bz_index_i64 takes; size > 0. */
BZ_FN void bz_fault(bz_s_u64 *error, bz_i64 place, bz_i64 size, int n)
{
	bz_i64 bad = (place < -size) | (place >= size);
	bz_s_i64 any = 0;

	for (int i = 0; i < BZ_W; i++)
		any |= bad[i];
	if (__builtin_expect(any != 0, 0))
		bz_fault_put(error, place, bad, n);
}

/* In memory of our own first: the compiler cannot fetch it again. */
BZ_FN bz_i64 bz_limit(bz_i64 place, bz_s_i64 extent)
{
	bz_i64 last = BZ_SPLAT(i64, extent - 1), zero = BZ_SPLAT(i64, 0);

	__asm__("" : "+m"(place));
	place = BZ_SEL(i64, (bz_u64)(place > last), last, place);
	return BZ_SEL(i64, (bz_u64)(place < 0), zero, place);
}

/* Lane i < n: the element `step` * i bytes and place i times `stride` bytes from p;
 * other lanes 1. */
#define BZ_GATHER(t)                                                                               \
	BZ_FN bz_##t bz_ldg_##t(const char *p, bz_s_i64 step, bz_i64 place, bz_s_i64 extent,       \
				bz_s_i64 stride, int n)                                            \
	{                                                                                          \
		union bz_l_##t u = {BZ_SPLAT(t, 1)};                                               \
		union bz_l_i64 at = {bz_limit(place, extent)};                                     \
		for (int i = 0; i < n; i++)                                                        \
			u.s[i] = *(const bz_e_##t *)(p + i * step + at.s[i] * stride);             \
		BZ_CLEAN_##t(u.v);                                                                 \
		return u.v;                                                                        \
	}
BZ_EACH_SCALAR(BZ_GATHER)
#ifndef BZ_NO_HALF
BZ_GATHER(f16)
#endif
#ifndef BZ_NO_BRAIN
BZ_GATHER(bf16)
#endif
#define BZ_GATHER_COMPLEX(t, f)                                                                    \
	BZ_FN bz_##t bz_ldg_##t(const char *p, bz_s_i64 step, bz_i64 place, bz_s_i64 extent,       \
				bz_s_i64 stride, int n)                                            \
	{                                                                                          \
		return (bz_##t){bz_ldg_##f(p, step, place, extent, stride, n),                     \
				bz_ldg_##f(p + sizeof(bz_s_##f), step, place, extent, stride, n)}; \
	}
BZ_EACH_COMPLEX(BZ_GATHER_COMPLEX)
#endif
#endif
