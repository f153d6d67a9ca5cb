/* SPDX-License-Identifier: Apache-2.0 */
/* cu_memory.c - device addresses and what is behind them; pinned host memory.
 *
 * A device address is made up, unique for the life of the process and mapped nowhere.
 * Fresh memory is filled with 0xa5.  Host memory behind a freed allocation goes away
 * when nobody holds device memory (cu_memory_hold), so that a kernel that runs into
 * it is told, not killed. */
#include "cu.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POISON	  0xa5
#define GRAIN	  512u	      /* bytes that an allocation is rounded to */
#define LARGE	  (32u << 20) /* from here on poison is mapped, not written */
#define OLD_COUNT 1024

enum memory_kind { MEMORY_DEVICE, MEMORY_MAPPED, MEMORY_HOST, MEMORY_REGISTERED };

struct allocation {
	uint64_t lo, hi; /* device addresses; of host memory the host's */
	char *host;
	enum memory_kind kind;
	int device;
	bool unborn, leaving; /* stream-ordered: not yet there, being freed; mapped, to nobody */
	bool fixed;	      /* mapped, to be read */
	unsigned users;	      /* mapped: a bit for each device that may use it */
	char *shadow;	      /* registered: the pages of then, which nobody touches again */
	size_t shadow_bytes;
	struct CUmemPoolHandle_st *pool;
};

struct old {
	uint64_t lo, hi;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *list; /* ascending */
static size_t count, cap;
static struct old olds[OLD_COUNT];
static size_t nolds;
static struct allocation *graves;
static size_t ngraves, graves_cap;
static unsigned holders;
static uint64_t next_address[CU_MAX_DEVICES], direct[CU_MAX_DEVICES];
static int poison_file = -1;

static size_t padded(size_t n)
{
	return (n + GRAIN - 1) / GRAIN * GRAIN;
}

/* ---- host storage ---- */

/* A large allocation is copies of one file of poison: it takes memory as it is
 * written. */
static char *mapped_poison(size_t bytes)
{
	if (poison_file < 0) {
		static char page[1 << 20];

		poison_file = memfd_create("standin-poison", MFD_CLOEXEC);
		memset(page, POISON, sizeof(page));
		for (size_t at = 0; at < LARGE && poison_file >= 0; at += sizeof(page))
			if (write(poison_file, page, sizeof(page)) != (ssize_t)sizeof(page))
				return NULL;
	}
	char *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	for (size_t at = 0; at < bytes; at += LARGE) {
		size_t n = bytes - at < LARGE ? bytes - at : LARGE;

		if (mmap(p + at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
			 poison_file, 0) == MAP_FAILED) {
			munmap(p, bytes);
			return NULL;
		}
	}
	return p;
}

static char *storage(size_t bytes)
{
	if (bytes >= LARGE)
		return mapped_poison(bytes);
	char *p = aligned_alloc(GRAIN, padded(bytes));
	if (p)
		memset(p, POISON, padded(bytes));
	return p;
}

static void release_storage(const struct allocation *a)
{
	if (a->shadow)
		munmap(a->shadow, a->shadow_bytes);
	if (a->kind == MEMORY_REGISTERED)
		return;
	if (a->kind == MEMORY_MAPPED || (a->kind == MEMORY_DEVICE && a->hi - a->lo >= LARGE))
		munmap(a->host, a->hi - a->lo);
	else
		free(a->host);
}

static void bury(const struct allocation *a)
{
	if (!holders) {
		release_storage(a);
		return;
	}
	if (ngraves == graves_cap) {
		graves_cap = graves_cap ? 2 * graves_cap : 64;
		graves = realloc(graves, graves_cap * sizeof(*graves));
		if (!graves)
			abort();
	}
	graves[ngraves++] = *a;
}

void cu_memory_hold(void)
{
	pthread_mutex_lock(&lock);
	holders++;
	pthread_mutex_unlock(&lock);
}

void cu_memory_release(void)
{
	pthread_mutex_lock(&lock);
	if (--holders == 0) {
		while (ngraves)
			release_storage(&graves[--ngraves]);
		free(graves);
		graves = NULL;
		graves_cap = 0;
	}
	pthread_mutex_unlock(&lock);
}

/* ---- the table; lock is held ---- */

/* Number of the last allocation that begins at or below address, or -1. */
static long below(uint64_t address)
{
	size_t lo = 0, hi = count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (list[mid].lo <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (long)lo - 1;
}

static struct allocation *holding(uint64_t address, size_t n)
{
	long k = below(address);

	if (k < 0 || list[k].unborn || address + n < address || address + n > list[k].hi)
		return NULL;
	return &list[k];
}

static struct allocation *beginning(uint64_t address)
{
	long k = below(address);

	return k >= 0 && list[k].lo == address ? &list[k] : NULL;
}

static void insert(struct allocation a)
{
	if (count == cap) {
		cap = cap ? 2 * cap : 64;
		list = realloc(list, cap * sizeof(*list));
		if (!list)
			abort();
	}
	size_t k = (size_t)(below(a.lo) + 1);
	memmove(&list[k + 1], &list[k], (count - k) * sizeof(*list));
	list[k] = a;
	count++;
}

static void erase(struct allocation *a)
{
	size_t k = (size_t)(a - list);

	olds[nolds++ % OLD_COUNT] = (struct old){a->lo, a->hi};
	cu_race_freed(a->lo);
	bury(a);
	memmove(a, a + 1, (count - k - 1) * sizeof(*list));
	if (--count == 0) {
		free(list);
		list = NULL;
		cap = 0;
	}
}

/* ---- translation ---- */

bool cu_memory_translate(void *data, uint64_t address, size_t n, struct ptx_range *out)
{
	pthread_mutex_lock(&lock);
	struct allocation *a = holding(address, n);
	if (a)
		*out = (struct ptx_range){a->lo, a->hi, a->host, a->fixed};
	pthread_mutex_unlock(&lock);
	return a != NULL;
}

bool cu_memory_pooled(uint64_t address)
{
	pthread_mutex_lock(&lock);
	long k = below(address); /* it may not be there before its stream has come to it */
	bool pooled = k >= 0 && address < list[k].hi && list[k].pool;
	pthread_mutex_unlock(&lock);
	return pooled;
}

char *cu_memory_host(uint64_t address, size_t n)
{
	struct ptx_range r;

	return cu_memory_translate(NULL, address, n, &r) ? r.host + (address - r.lo) : NULL;
}

char *cu_memory_target(uint64_t address, size_t n)
{
	struct ptx_range r;

	if (!cu_memory_translate(NULL, address, n, &r) || r.fixed)
		return NULL;
	return r.host + (address - r.lo);
}

static bool describe_old(uint64_t address, char *text, size_t size)
{
	for (size_t k = 0; k < nolds && k < OLD_COUNT; k++)
		if (address >= olds[k].lo && address < olds[k].hi) {
			snprintf(text, size, "byte %llu of an allocation of %llu bytes, freed",
				 (unsigned long long)(address - olds[k].lo),
				 (unsigned long long)(olds[k].hi - olds[k].lo));
			return true;
		}
	return false;
}

static bool describe_mapped(const struct allocation *a, uint64_t address, char *text, size_t size)
{
	if (!a || address >= a->hi || a->kind != MEMORY_MAPPED || !(a->unborn || a->fixed))
		return false;
	snprintf(text, size, "memory that is mapped %s",
		 a->fixed ? "to be read" : "without access");
	return true;
}

void cu_memory_describe(void *data, uint64_t address, char *text, size_t size)
{
	pthread_mutex_lock(&lock);
	long k = below(address);
	const struct allocation *a = k >= 0 ? &list[k] : NULL;
	if (describe_mapped(a, address, text, size))
		;
	else if (a && address < a->hi && a->unborn)
		snprintf(text, size, "an allocation that its stream has not reached yet");
	else if (a && address < a->hi)
		snprintf(text, size, "%llu bytes before the end of an allocation of %llu bytes",
			 (unsigned long long)(a->hi - address),
			 (unsigned long long)(a->hi - a->lo));
	else if (describe_old(address, text, size))
		;
	else if (a && address - a->hi < 1 << 20)
		snprintf(text, size,
			 "%llu bytes behind the end of an allocation of %llu bytes at 0x%llx",
			 (unsigned long long)(address - a->hi), (unsigned long long)(a->hi - a->lo),
			 (unsigned long long)a->lo);
	else
		snprintf(text, size, "no allocation is near");
	pthread_mutex_unlock(&lock);
}

/* ---- device memory ---- */

uint64_t cu_memory_used(int device)
{
	return direct[device] + cu_pool_reserved(device);
}

/* Bytes that the device must give for it; cu_lock is held. */
static bool affordable(struct CUctx_st *c, uint64_t growth, uint64_t bytes)
{
	if (cu_memory_used(c->device) + growth > cu_config.vram)
		return false;
	if (cu_config.oom_after < 0)
		return true;
	if ((uint64_t)cu_config.oom_after < bytes)
		return false;
	cu_config.oom_after -= (int64_t)bytes;
	return true;
}

/* Lock is held.  A gap stays behind each. */
static uint64_t fresh_addresses(int device, uint64_t bytes, uint64_t alignment)
{
	uint64_t *next = &next_address[device], at = 0;

	if (!*next)
		*next = 0x302000000000ull + ((uint64_t)device << 40);
	at = (*next + alignment - 1) / alignment * alignment;
	*next = at + bytes + GRAIN;
	return at;
}

CUresult cu_memory_make(struct CUctx_st *c, size_t bytes, struct CUmemPoolHandle_st *pool,
			bool unborn, CUdeviceptr *out)
{
	uint64_t size = padded(bytes), growth = pool ? cu_pool_growth(pool, size) : size;
	char *host = NULL;

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > cu_config.vram || (pool && pool->most && pool->used + size > pool->most) ||
	    !affordable(c, growth, size) || !(host = storage(bytes)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	uint64_t at = fresh_addresses(c->device, size, GRAIN);
	struct allocation a = {.lo = at,
			       .hi = at + bytes,
			       .host = host,
			       .device = c->device,
			       .unborn = unborn,
			       .pool = pool};
	insert(a);
	if (pool)
		cu_pool_take(pool, size);
	else
		direct[c->device] += size;
	pthread_mutex_unlock(&lock);
	*out = a.lo;
	return CUDA_SUCCESS;
}

void cu_memory_birth(CUdeviceptr address)
{
	pthread_mutex_lock(&lock);
	struct allocation *a = beginning(address);
	if (a)
		a->unborn = false;
	pthread_mutex_unlock(&lock);
}

/* The bytes are counted as free from here on; the memory itself may stay a while. */
static void give_back(struct allocation *a)
{
	uint64_t size = padded(a->hi - a->lo);

	if (a->leaving)
		return;
	a->leaving = true;
	if (a->pool)
		cu_pool_give(a->pool, size);
	else
		direct[a->device] -= size;
}

void cu_memory_free(CUdeviceptr address)
{
	pthread_mutex_lock(&lock);
	struct allocation *a = beginning(address);
	if (a && a->kind == MEMORY_DEVICE) {
		give_back(a);
		erase(a);
	}
	pthread_mutex_unlock(&lock);
}

void cu_memory_free_all(int device)
{
	pthread_mutex_lock(&lock);
	for (size_t k = count; k-- > 0;)
		if (list[k].kind == MEMORY_DEVICE && list[k].device == device)
			erase(&list[k]);
	direct[device] = 0;
	pthread_mutex_unlock(&lock);
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	pthread_mutex_lock(&cu_lock);
	error = cu_memory_make(c, bytes, NULL, false, out);
	pthread_mutex_unlock(&cu_lock);
	return error;
}

/* Marks an allocation as being freed; false: there is none to free. */
static bool leave(CUdeviceptr address, bool stream_ordered)
{
	pthread_mutex_lock(&lock);
	struct allocation *a = beginning(address);
	bool ok = a && a->kind == MEMORY_DEVICE && !a->leaving && (a->pool || !stream_ordered);
	if (ok)
		give_back(a);
	pthread_mutex_unlock(&lock);
	return ok;
}

/* Waits for the whole device, as the real one does. */
CUresult cuMemFree_v2(CUdeviceptr address)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error || !address)
		return error;
	cu_stream_drain_all(c);
	pthread_mutex_lock(&cu_lock);
	bool found = leave(address, false);
	if (found)
		cu_memory_free(address);
	pthread_mutex_unlock(&cu_lock);
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	struct CUctx_st *c;
	struct CUstream_st *s = NULL;
	CUresult error = cu_enter_context(__func__, &c);

	if (!error)
		error = cu_stream_find(c, stream, &s);
	if (error)
		return error;
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&cu_lock);
	bool found = leave(address, true);
	pthread_mutex_unlock(&cu_lock);
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	struct cu_op *op = cu_op_new(OP_RELEASE);
	op->to = address;
	cu_stream_push(s, op);
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	pthread_mutex_lock(&cu_lock);
	*free_bytes = cu_config.vram - cu_memory_used(c->device);
	*total_bytes = cu_config.vram;
	pthread_mutex_unlock(&cu_lock);
	return CUDA_SUCCESS;
}

/* ---- memory of cu_mapping.c ---- */

uint64_t cu_memory_addresses(int device, uint64_t bytes, uint64_t alignment)
{
	pthread_mutex_lock(&lock);
	uint64_t at = fresh_addresses(device, bytes, alignment);
	pthread_mutex_unlock(&lock);
	return at;
}

bool cu_memory_take(struct CUctx_st *c, uint64_t bytes)
{
	bool ok = affordable(c, bytes, bytes);

	if (ok)
		direct[c->device] += bytes;
	return ok;
}

void cu_memory_give(int device, uint64_t bytes)
{
	direct[device] -= bytes;
}

void cu_memory_map(uint64_t address, size_t bytes, char *host, int device)
{
	pthread_mutex_lock(&lock);
	insert((struct allocation){.lo = address,
				   .hi = address + bytes,
				   .host = host,
				   .kind = MEMORY_MAPPED,
				   .device = device,
				   .unborn = true});
	pthread_mutex_unlock(&lock);
}

void cu_memory_allow(uint64_t address, int device, bool write)
{
	pthread_mutex_lock(&lock);
	struct allocation *a = beginning(address);
	a->unborn = false;
	a->users |= 1u << device;
	a->fixed = !write;
	pthread_mutex_unlock(&lock);
}

void cu_memory_unmap(uint64_t address)
{
	pthread_mutex_lock(&lock);
	erase(beginning(address));
	pthread_mutex_unlock(&lock);
}

/* ---- host memory ---- */

static bool is_host(const struct allocation *a)
{
	return a->kind == MEMORY_HOST || a->kind == MEMORY_REGISTERED;
}

bool cu_memory_pinned(const void *host, size_t n)
{
	pthread_mutex_lock(&lock);
	struct allocation *a = holding((uintptr_t)host, n);
	bool pinned = a && is_host(a);
	pthread_mutex_unlock(&lock);
	return pinned;
}

/* Does a copy through registered memory meet pages that are not its mapping's any more?
 * The kernel takes a page that leaves a file out of every mapping, and nobody brings
 * one back into the shadow. */
static bool pages_gone(const struct allocation *a, uint64_t address, size_t n)
{
	static int map = -1;
	uint64_t page[512], first = (address - a->lo + a->lo % 4096) / 4096,
			    end = (address + n - 1 - a->lo + a->lo % 4096) / 4096 + 1;

	if (map < 0)
		map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	while (a->shadow && map >= 0 && first < end) {
		size_t many = end - first < 512 ? end - first : 512;
		off_t at = (off_t)(((uintptr_t)a->shadow / 4096 + first) * sizeof(*page));

		if (pread(map, page, many * sizeof(*page), at) != (ssize_t)(many * sizeof(*page)))
			return false;
		for (size_t k = 0; k < many; k++)
			if (!(page[k] >> 63))
				return true;
		first += many;
	}
	return false;
}

const char *cu_memory_unfit(const void *host, size_t n)
{
	const char *why = NULL;

	pthread_mutex_lock(&lock);
	const struct allocation *a = holding((uintptr_t)host, n);
	if (!a || !is_host(a))
		why = "that was unregistered or freed before the copy was done";
	else if (cu_config.stale && pages_gone(a, (uintptr_t)host, n))
		why = "whose pages were given back since: the device still has the old ones";
	pthread_mutex_unlock(&lock);
	return why;
}

/* A second mapping of the same pages, each of them there; of private memory there is
 * none. */
static void shadow_make(struct allocation *a)
{
	uint64_t lo = a->lo & ~4095ull, hi = (a->hi + 4095) & ~4095ull;
	char *p = mremap((void *)(uintptr_t)lo, 0, hi - lo, MREMAP_MAYMOVE);

	if (p == MAP_FAILED)
		return;
	for (size_t k = 0; k < hi - lo; k += 4096)
		(void)*(volatile char *)(p + k);
	a->shadow = p;
	a->shadow_bytes = hi - lo;
}

static void add_host(void *host, size_t bytes, enum memory_kind kind)
{
	struct allocation a = {.lo = (uintptr_t)host,
			       .hi = (uintptr_t)host + bytes,
			       .host = host,
			       .kind = kind,
			       .device = -1};

	if (kind == MEMORY_REGISTERED)
		shadow_make(&a);
	insert(a);
}

static const struct allocation *of_device(uint64_t address)
{
	const struct allocation *a = holding(address, 1);

	return a && !is_host(a) ? a : NULL;
}

int cu_memory_device(uint64_t address)
{
	pthread_mutex_lock(&lock);
	const struct allocation *a = of_device(address);
	int device = a ? a->device : -1;
	pthread_mutex_unlock(&lock);
	return device;
}

/* Of another device is only what was mapped for this one. */
bool cu_memory_foreign(int device, uint64_t address)
{
	pthread_mutex_lock(&lock);
	const struct allocation *a = of_device(address);
	bool foreign =
		a && (a->kind == MEMORY_MAPPED ? !(a->users >> device & 1) : a->device != device);
	pthread_mutex_unlock(&lock);
	return foreign;
}

/* Of the device's memory only, and only whose it is. */
CUresult cuPointerGetAttribute(void *out, int attribute, CUdeviceptr address)
{
	CUresult error = cu_enter(__func__);

	if (error)
		return error;
	pthread_mutex_lock(&lock);
	const struct allocation *a = holding(address, 1);
	bool found = out && attribute == CU_POINTER_DEVICE_ORDINAL && a && !is_host(a);
	if (found)
		*(int *)out = a->device;
	pthread_mutex_unlock(&lock);
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (!bytes || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	add_host(p, bytes, MEMORY_HOST);
	pthread_mutex_unlock(&lock);
	*out = p;
	return CUDA_SUCCESS;
}

static CUresult forget_host(struct CUctx_st *c, void *host, enum memory_kind kind, CUresult missing)
{
	/* Unregistering waits for nothing: who does it under a copy is told. */
	if (kind == MEMORY_HOST)
		cu_stream_drain_all(c);
	pthread_mutex_lock(&lock);
	struct allocation *a = beginning((uintptr_t)host);
	bool found = a && a->kind == kind;
	if (found)
		erase(a);
	pthread_mutex_unlock(&lock);
	return found ? CUDA_SUCCESS : missing;
}

CUresult cuMemFreeHost(void *host)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	return error ? error : forget_host(c, host, MEMORY_HOST, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (!host || !bytes || flags & ~15u)
		return CUDA_ERROR_INVALID_VALUE;
	uint64_t lo = (uintptr_t)host, hi = lo + bytes;
	pthread_mutex_lock(&lock);
	long k = below(hi - 1);
	bool taken = k >= 0 && list[k].hi > lo;
	if (!taken)
		add_host(host, bytes, MEMORY_REGISTERED);
	pthread_mutex_unlock(&lock);
	return taken ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *host)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	return error ? error
		     : forget_host(c, host, MEMORY_REGISTERED,
				   CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *host, unsigned flags)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (flags || !cu_memory_pinned(host, 1))
		return CUDA_ERROR_INVALID_VALUE;
	*out = (uintptr_t)host;
	return CUDA_SUCCESS;
}
