/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/hog.c - see hog.h. */
#include "hog.h"

#include <string.h>

#include "cuda/cuda_error.h"

#define PIECE_BYTES (1ull << 30)
#define LEAST_BYTES (16ull << 20)

enum status hog_take(struct hog *h, uint64_t leave, struct err *err)
{
	uint64_t piece = PIECE_BYTES;
	size_t room = 0, all = 0;
	CUcontext context = NULL;
	CUresult rc;
	enum status st;

	memset(h, 0, sizeof *h);
	st = cuda_api_open(&h->api, err);
	if (st)
		return st;
	rc = h->api.cuDeviceGet(&h->device, 0);
	if (!rc)
		rc = h->api.cuDevicePrimaryCtxRetain(&context, h->device);
	if (!rc)
		rc = h->api.cuCtxSetCurrent(context);
	while (!rc && piece >= LEAST_BYTES && h->n < HOG_PIECES) {
		rc = h->api.cuMemGetInfo_v2(&room, &all);
		if (rc || room <= leave)
			break;
		if (room - leave < piece || h->api.cuMemAlloc_v2(&h->piece[h->n], piece))
			piece /= 2;
		else
			h->n++;
	}
	return rc ? cuda_error_set(err, &h->api, rc, "taking the device's memory") : OK;
}

void hog_give_back(struct hog *h)
{
	while (h->n)
		h->api.cuMemFree_v2(h->piece[--h->n]);
	if (h->api.cuDevicePrimaryCtxRelease_v2)
		h->api.cuDevicePrimaryCtxRelease_v2(h->device);
}
