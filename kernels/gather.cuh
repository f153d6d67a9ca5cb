/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/gather.cuh - indices that come from data, after ew.cuh.
 *
 * gather.h's rules for one element: bz_index, a place counted from the front;
 * bz_fault, which reports a place that the axis does not have to word `number` of
 * the launch's errors; bz_limit, a place that it has. */

template <class T> BZ_FN T bz_index(T place, T size)
{
	return place < 0 ? place + size : place;
}
BZ_FN void bz_fault(const bz_head &h, int number, bz_i64 place, bz_i64 size)
{
	if (place < -size || place >= size)
		atomicMin((bz_u64 *)h.error + number, (bz_u64)place - 1);
}
BZ_FN bz_i64 bz_limit(bz_i64 place, bz_i64 extent)
{
	return place < 0 ? 0 : place < extent ? place : extent - 1;
}
