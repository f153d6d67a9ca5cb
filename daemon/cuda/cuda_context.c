/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_context.c - the device, its primary context, and what lanes share. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/visible.h"
#include "cuda_error.h"
#include "cuda_facts.h"
#include "cuda_worker.h"

#define OLDEST_ARCH 50 /* older ones lack what generated code uses */

/* Is the context lost?  Of some codes a call that asks for nothing tells, which fails as well
 * then; until the worker serves, nothing is lost. */
static bool is_lost(struct cuda *c, CUresult rc)
{
	enum cuda_class class = cuda_error_class(rc);
	CUresult again = CUDA_SUCCESS;

	if (!c->serves || class == CUDA_FATAL)
		return c->serves;
	if (class != CUDA_DOUBT && class != CUDA_UNUSABLE)
		return false;
	again = c->api.cuStreamQuery(c->control);
	return again != CUDA_SUCCESS && again != CUDA_ERROR_NOT_READY;
}

enum status cuda_context_check(struct cuda *c, CUresult rc, struct err *err, const char *what, ...)
{
	char text[LIMIT_ERROR_TEXT];
	va_list ap;

	if (rc == CUDA_SUCCESS)
		return OK;
	va_start(ap, what);
	vsnprintf(text, sizeof text, what, ap);
	va_end(ap);
	if (is_lost(c, rc))
		cuda_watch_fatal(c, rc, text);
	c->api.failed = rc;
	return cuda_error_set(err, &c->api, rc, "%s", text);
}

void cuda_context_expect(struct cuda *c, CUresult rc, const char *what)
{
	struct err err = {0};

	if (cuda_context_check(c, rc, &err, "%s", what) != OK)
		log_error("cuda_context", "%s", err.text);
}

CUresult cuda_context_write(struct cuda *c, CUstream stream, CUdeviceptr word, uint32_t value)
{
	if (c->write_value)
		return c->api.cuStreamWriteValue32_v2(stream, word, value,
						      CU_STREAM_WRITE_VALUE_DEFAULT);
	return c->api.cuMemsetD32Async(word, value, 1, stream);
}

static int attribute(struct cuda *c, CUdevice_attribute which)
{
	int value = 0;

	return c->api.cuDeviceGetAttribute(&value, which, c->device) == CUDA_SUCCESS ? value : 0;
}

/* As the driver's tools write it: a slice of a GPU has a name and a number of its own. */
static void identify(struct cuda *c)
{
	static const char dash[16] = {[4] = '-', [6] = '-', [8] = '-', [10] = '-'};
	char *at = c->uuid;
	CUuuid id;

	if (!c->api.cuDeviceGetUuid_v2 || c->api.cuDeviceGetUuid_v2(&id, c->device) != CUDA_SUCCESS)
		return;
	at += sprintf(at, "%s-", strstr(c->name, "MIG") ? "MIG" : "GPU");
	for (int i = 0; i < 16; i++)
		at += sprintf(at, dash[i] ? "-%02x" : "%02x", (unsigned char)id.bytes[i]);
}

/* The device's numbers. */
static enum status describe(struct cuda *c, int ordinal, struct err *err)
{
	int count = 0;
	size_t memory = 0;
	enum status st = cuda_context_check(c, c->api.cuDeviceGetCount(&count), err,
					    "counting the CUDA devices");

	if (st != OK)
		return st;
	if (ordinal < 0 || ordinal >= count)
		return err_set(err, E_DEVICE,
			       "there is no device cuda:%d; the driver knows %d (of a GPU that is "
			       "cut into slices it shows one, unless the daemon's "
			       "CUDA_VISIBLE_DEVICES names them: MIG-...,MIG-...)",
			       ordinal, count);
	st = cuda_context_check(c, c->api.cuDeviceGet(&c->device, ordinal), err,
				"taking device cuda:%d", ordinal);
	if (st == OK)
		st = cuda_context_check(c, c->api.cuDeviceTotalMem_v2(&memory, c->device), err,
					"asking cuda:%d for its memory", ordinal);
	if (st != OK)
		return st;
	c->memory = memory;
	if (c->api.cuDeviceGetName(c->name, sizeof c->name, c->device) != CUDA_SUCCESS)
		snprintf(c->name, sizeof c->name, "cuda:%d", ordinal);
	c->name[sizeof c->name - 1] = 0;
	identify(c);
	c->arch = (uint32_t)(10 * attribute(c, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
			     attribute(c, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
	c->units = (uint32_t)attribute(c, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	cuda_facts_limits(&c->limits, &c->api, c->device);
	c->khz = (uint32_t)attribute(c, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
	c->single_to_double =
		(uint32_t)attribute(c, CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO);
	/* Two bits of each line in a turn of its clock, which is told in kHz. */
	c->memory_rate = UINT64_C(2000) *
			 (uint64_t)attribute(c, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
			 (uint64_t)attribute(c, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
	c->late_reads = attribute(c, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
	c->pools = c->api.pools && attribute(c, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
	c->exports = c->api.exports &&
		     attribute(c, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) &&
		     attribute(c, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
	c->imports =
		c->exports && c->api.cuMemImportFromShareableHandle && c->api.cuDeviceCanAccessPeer;
	c->peers = cuda_import_peers(c, count);
	if (!attribute(c, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED))
		c->pin_limit = 0;
	if (c->arch < OLDEST_ARCH || c->units == 0)
		return err_set(err, E_DEVICE,
			       "cuda:%d (%s) has compute capability %u.%u; braze needs %d.%d",
			       ordinal, c->name, c->arch / 10, c->arch % 10, OLDEST_ARCH / 10,
			       OLDEST_ARCH % 10);
	return OK;
}

/* Does the driver write words in a stream's order by itself? */
static void try_write_value(struct cuda *c)
{
	CUdeviceptr word = 0;
	CUresult rc = CUDA_ERROR_NOT_SUPPORTED;

	if (!c->api.cuStreamWriteValue32_v2 ||
	    c->api.cuMemAlloc_v2(&word, sizeof(uint32_t)) != CUDA_SUCCESS)
		return;
	rc = c->api.cuStreamWriteValue32_v2(c->control, word, 0, CU_STREAM_WRITE_VALUE_DEFAULT);
	cuda_context_expect(c, c->api.cuMemFree_v2(word), "freeing a word");
	c->write_value = rc == CUDA_SUCCESS;
}

/* Cancels go before whatever else is queued, where the driver knows of priorities. */
static CUresult control_open(struct cuda *c)
{
	int least = 0, greatest = 0;

	if (c->api.cuCtxGetStreamPriorityRange && c->api.cuStreamCreateWithPriority &&
	    c->api.cuCtxGetStreamPriorityRange(&least, &greatest) == CUDA_SUCCESS &&
	    c->api.cuStreamCreateWithPriority(&c->control, CU_STREAM_NON_BLOCKING, greatest) ==
		    CUDA_SUCCESS)
		return CUDA_SUCCESS;
	return c->api.cuStreamCreate(&c->control, CU_STREAM_NON_BLOCKING);
}

/* The driver shows a process one slice of a GPU, the first that its list names.  So of a list of
 * slices this worker keeps its own one, which is number 0 then.  No other thread runs yet. */
static int alone(int ordinal)
{
	char slice[LIMIT_VISIBLE];

	if (!visible_slice(slice, sizeof slice, getenv("CUDA_VISIBLE_DEVICES"), ordinal))
		return ordinal;
	setenv("CUDA_VISIBLE_DEVICES", slice, 1);
	return 0;
}

enum status cuda_context_open(struct cuda *c, int number, struct err *err)
{
	int ordinal = alone(number);
	enum status st = OK;

	/* Streams that share a way to the device wait for each other: a cancel for the kernel
	 * that it is to end.  There are eight ways unless more are asked for.  No other thread
	 * runs yet. */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	st = cuda_api_open(&c->api, err);

	if (st != OK || (st = describe(c, ordinal, err)) != OK)
		return st;
	/* Fails when somebody in this process has the context already: then it stays. */
	if (c->api.cuDevicePrimaryCtxSetFlags_v2(c->device, CU_CTX_SCHED_BLOCKING_SYNC) !=
	    CUDA_SUCCESS)
		log_debug("cuda_context", "the context keeps its way of waiting");
	st = cuda_context_check(c, c->api.cuDevicePrimaryCtxRetain(&c->context, c->device), err,
				"taking the context of cuda:%d (%s)", ordinal, c->name);
	if (st == OK)
		st = cuda_context_check(c, c->api.cuCtxSetCurrent(c->context), err,
					"using the context of cuda:%d", ordinal);
	if (st == OK)
		st = cuda_context_check(c, control_open(c), err, "the control stream of cuda:%d",
					ordinal);
	if (st != OK)
		return st;
	try_write_value(c);
	log_debug("cuda_context", "%s: driver %d from %s, %s, %s", c->name, c->api.version,
		  c->api.path, c->pools ? "pools" : "no pools",
		  c->write_value ? "written words" : "filled words");
	return OK;
}

void cuda_context_close(struct cuda *c)
{
	if (c->control)
		cuda_context_expect(c, c->api.cuStreamDestroy_v2(c->control), "the control stream");
	if (c->context)
		cuda_context_expect(c, c->api.cuDevicePrimaryCtxRelease_v2(c->device),
				    "releasing the context");
}
