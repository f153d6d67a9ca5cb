/* SPDX-License-Identifier: Apache-2.0 */
/* cu_mapping.c - memory and addresses apart: cuMemCreate, cuMemMap, and descriptors for others.
 *
 * Memory is a file: who has its descriptor maps the same bytes, in any process, and they are there
 * until the last one has let go.  What a driver leaves undefined is refused here. */
#include "cu.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULE (2u << 20)
#define POISON	0xa5
#define FILE_IS "standin-memory-" /* and the device's number */

/* Memory of this process's, or imported. */
struct physical {
	struct physical *next;
	int device, file;
	uint64_t bytes;
	bool exportable, imported;
	bool held;	 /* it was not released */
	unsigned mapped; /* how often */
};

/* A mapping, inside one reservation. */
struct mapped {
	struct mapped *next;
	uint64_t at, bytes;
	struct physical *memory;
};

struct reserved {
	struct reserved *next;
	uint64_t at, bytes;
};

/* All guarded by cu_lock. */
static struct physical *memories;
static struct mapped *mappings;
static struct reserved *reservations;

static bool whole(uint64_t bytes)
{
	return bytes && bytes % GRANULE == 0;
}

/* ---- memory ---- */

static bool good_prop(const CUmemAllocationProp *p)
{
	return p && p->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
	       p->location.type == CU_MEM_LOCATION_TYPE_DEVICE && cu_device_ok(p->location.id) &&
	       (p->requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
		p->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FD) &&
	       !p->win32HandleMetaData && !p->allocFlags.compressionType && !p->allocFlags.usage;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop, int which)
{
	CUresult error = cu_enter(__func__);

	if (error)
		return error;
	if (!bytes || !good_prop(prop) || which < 0 || which > 1)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = GRANULE;
	return CUDA_SUCCESS;
}

/* The memory's file, full of poison; -1: there is none. */
static int poisoned_file(int device, uint64_t bytes)
{
	static char page[64 << 10];
	char name[32];
	int fd = -1;

	snprintf(name, sizeof(name), FILE_IS "%d", device);
	fd = memfd_create(name, MFD_CLOEXEC);
	memset(page, POISON, sizeof(page));
	for (uint64_t at = 0; at < bytes && fd >= 0; at += sizeof(page))
		if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page)) {
			close(fd);
			return -1;
		}
	return fd;
}

static CUmemGenericAllocationHandle add(const struct physical *made)
{
	struct physical *p = cu_alloc(sizeof(*p));

	*p = *made;
	p->held = true;
	p->next = memories;
	memories = p;
	return (CUmemGenericAllocationHandle)(uintptr_t)p;
}

/* NULL: nothing that is held has this handle. */
static struct physical *find(CUmemGenericAllocationHandle handle)
{
	struct physical *p = memories;

	while (p && (CUmemGenericAllocationHandle)(uintptr_t)p != handle)
		p = p->next;
	return p && p->held ? p : NULL;
}

static void forget_unused(struct physical *p)
{
	struct physical **at = &memories;

	if (p->held || p->mapped)
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (!p->imported)
		cu_memory_give(p->device, p->bytes);
	close(p->file);
	free(p);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	CUresult error = cu_enter(__func__);
	struct physical made = {.bytes = bytes};

	if (error)
		return error;
	if (!out || flags || !good_prop(prop) || !whole(bytes))
		return CUDA_ERROR_INVALID_VALUE;
	made.device = prop->location.id;
	made.exportable = prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE;
	pthread_mutex_lock(&cu_lock);
	if (!cu_memory_take(cu_context_of(made.device), bytes)) {
		error = CUDA_ERROR_OUT_OF_MEMORY;
	} else if ((made.file = poisoned_file(made.device, bytes)) < 0) {
		cu_memory_give(made.device, bytes);
		error = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		*out = add(&made);
	}
	pthread_mutex_unlock(&cu_lock);
	return error;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult error = cu_enter(__func__);
	struct physical *p = NULL;

	if (error)
		return error;
	pthread_mutex_lock(&cu_lock);
	p = find(handle);
	if (p) {
		p->held = false;
		forget_unused(p);
	}
	pthread_mutex_unlock(&cu_lock);
	return p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- other processes ---- */

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, int type,
				      unsigned long long flags)
{
	CUresult error = cu_enter(__func__);
	struct physical *p = NULL;
	int fd = -1;

	if (error)
		return error;
	pthread_mutex_lock(&cu_lock);
	p = find(handle);
	if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FD || !p || !p->exportable)
		error = CUDA_ERROR_INVALID_VALUE;
	else if ((fd = fcntl(p->file, F_DUPFD_CLOEXEC, 0)) < 0)
		error = CUDA_ERROR_UNKNOWN;
	else
		memcpy(out, &fd, sizeof(fd));
	pthread_mutex_unlock(&cu_lock);
	return error;
}

/* Is it a file of memory, and of which device?  -1: it is none. */
static int device_of(int fd)
{
	char link[64], name[128] = "";
	const char *at = NULL;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, name, sizeof(name) - 1) < 0 || !(at = strstr(name, "memfd:" FILE_IS)))
		return -1;
	return atoi(at + strlen("memfd:" FILE_IS));
}

/* The descriptor stays the caller's. */
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *shared, int type)
{
	CUresult error = cu_enter(__func__);
	int fd = (int)(intptr_t)shared;
	struct physical made = {.device = device_of(fd), .imported = true, .exportable = true};
	struct stat st;

	if (error)
		return error;
	if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FD || !cu_device_ok(made.device) ||
	    fstat(fd, &st) || !whole((uint64_t)st.st_size))
		return CUDA_ERROR_INVALID_VALUE;
	made.bytes = (uint64_t)st.st_size;
	made.file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (made.file < 0)
		return CUDA_ERROR_UNKNOWN;
	pthread_mutex_lock(&cu_lock);
	*out = add(&made);
	pthread_mutex_unlock(&cu_lock);
	return CUDA_SUCCESS;
}

/* ---- addresses ---- */

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wanted,
			     unsigned long long flags)
{
	CUresult error = cu_enter(__func__);
	struct reserved *r = NULL;

	if (error)
		return error;
	if (!out || !whole(bytes) || (alignment & (alignment - 1)) || wanted || flags)
		return CUDA_ERROR_INVALID_VALUE;
	r = cu_alloc(sizeof(*r));
	pthread_mutex_lock(&cu_lock);
	r->at = cu_memory_addresses(0, bytes, alignment > GRANULE ? alignment : GRANULE);
	r->bytes = bytes;
	r->next = reservations;
	reservations = r;
	*out = r->at;
	pthread_mutex_unlock(&cu_lock);
	return CUDA_SUCCESS;
}

/* Does a mapping lie in there? */
static bool is_used(uint64_t at, uint64_t bytes)
{
	for (const struct mapped *m = mappings; m; m = m->next)
		if (m->at < at + bytes && at < m->at + m->bytes)
			return true;
	return false;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	CUresult error = cu_enter(__func__);
	struct reserved **at = &reservations, *r = NULL;

	if (error)
		return error;
	pthread_mutex_lock(&cu_lock);
	while (*at && ((*at)->at != address || (*at)->bytes != bytes))
		at = &(*at)->next;
	r = *at;
	if (!r || is_used(address, bytes)) {
		error = CUDA_ERROR_INVALID_VALUE;
	} else {
		*at = r->next;
		free(r);
	}
	pthread_mutex_unlock(&cu_lock);
	return error;
}

static bool is_reserved(uint64_t at, uint64_t bytes)
{
	for (const struct reserved *r = reservations; r; r = r->next)
		if (at >= r->at && bytes <= r->bytes && at - r->at <= r->bytes - bytes)
			return true;
	return false;
}

static struct mapped **mapping_at(uint64_t at, uint64_t bytes)
{
	struct mapped **m = &mappings;

	while (*m && ((*m)->at != at || (*m)->bytes != bytes))
		m = &(*m)->next;
	return m;
}

static CUresult map(uint64_t address, size_t bytes, struct physical *p)
{
	char *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->file, 0);
	struct mapped *m = NULL;

	if (host == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m = cu_alloc(sizeof(*m));
	*m = (struct mapped){mappings, address, bytes, p};
	mappings = m;
	p->mapped++;
	cu_memory_map(address, bytes, host, p->device);
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult error = cu_enter(__func__);
	struct physical *p = NULL;

	if (error)
		return error;
	pthread_mutex_lock(&cu_lock);
	p = find(handle);
	if (!p || offset || flags || !whole(bytes) || bytes > p->bytes || address % GRANULE ||
	    !is_reserved(address, bytes) || is_used(address, bytes))
		error = CUDA_ERROR_INVALID_VALUE;
	else
		error = map(address, bytes, p);
	pthread_mutex_unlock(&cu_lock);
	return error;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *who, size_t count)
{
	CUresult error = cu_enter(__func__);
	const struct mapped *m = NULL;

	if (error)
		return error;
	if (!who || count != 1 || who->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    (who->flags != CU_MEM_ACCESS_READ && who->flags != CU_MEM_ACCESS_READWRITE))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&cu_lock);
	m = *mapping_at(address, bytes);
	if (!m)
		error = CUDA_ERROR_INVALID_VALUE;
	else if (!cu_device_ok(who->location.id))
		error = CUDA_ERROR_INVALID_DEVICE;
	else if (m->memory->device != who->location.id &&
		 !cu_device_reaches(who->location.id, m->memory->device))
		error = CUDA_ERROR_NOT_SUPPORTED;
	else
		cu_memory_allow(address, who->location.id, who->flags == CU_MEM_ACCESS_READWRITE);
	pthread_mutex_unlock(&cu_lock);
	return error;
}

/* Waits for nothing: who uses it still is told. */
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	CUresult error = cu_enter(__func__);
	struct mapped **at = NULL, *m = NULL;

	if (error)
		return error;
	pthread_mutex_lock(&cu_lock);
	at = mapping_at(address, bytes);
	m = *at;
	if (m) {
		*at = m->next;
		cu_memory_unmap(address);
		m->memory->mapped--;
		forget_unused(m->memory);
		free(m);
	}
	pthread_mutex_unlock(&cu_lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
