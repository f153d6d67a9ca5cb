/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_shim.c - libnvrtc.so in front of the real one, which it keeps the PTX of.
 *
 * In: the calls of a user of NVRTC.  Out: the real library's answers; after each
 * successful compilation to a cubin also a file with the PTX of the same compilation,
 * where the stand-in driver looks for it (cubin.h).  What was compiled once is not compiled
 * again where compilations are kept (nvrtc_kept.h).  The real library is
 * BRAZE_STANDIN_NVRTC, or the first that is found in the usual places. */
#define _GNU_SOURCE
#include "cubin.h"
#include "nvrtc_kept.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAILED 11 /* NVRTC_ERROR_INTERNAL_ERROR */

static void *real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *open_in(const char *folder)
{
	static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
	char path[1024];
	void *found = NULL;

	for (size_t k = 0; k < 3 && !found; k++) {
		snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", names[k]);
		found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return found;
}

/* A library that is this one again would call itself for ever. */
static bool is_self(void *library)
{
	Dl_info mine, theirs;
	void *version = dlsym(library, "nvrtcVersion");

	return !version || !dladdr((void *)(uintptr_t)open_in, &mine) ||
	       !dladdr(version, &theirs) || mine.dli_fbase == theirs.dli_fbase;
}

static void *search(void)
{
	static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
	void *found = NULL;
	char folder[1000];

	for (size_t k = 0; k < 2 && !found; k++)
		if (getenv(variables[k])) {
			snprintf(folder, sizeof(folder), "%s/lib64", getenv(variables[k]));
			found = open_in(folder);
		}
	if (!found)
		found = open_in("/usr/local/cuda/lib64");
	return found ? found : open_in("");
}

static void open_real(void)
{
	const char *named = getenv("BRAZE_STANDIN_NVRTC");
	bool given = named && *named;

	real = given ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : search();
	if (real && is_self(real))
		real = NULL;
	if (!real)
		fprintf(stderr,
			"standin: no NVRTC found (%s); set BRAZE_STANDIN_NVRTC to its path\n",
			given ? named : "in the usual places");
}

static void *function(const char *name)
{
	pthread_once(&once, open_real);
	return real ? dlsym(real, name) : NULL;
}

typedef uintptr_t word;
typedef word forwarded(word, word, word, word, word, word);

/* Every argument of NVRTC's functions is an integer or a pointer, six at most. */
#define FORWARD(name)                                                                              \
	__attribute__((visibility("default"))) word name(word a, word b, word c, word d, word e,   \
							 word f);                                  \
	word name(word a, word b, word c, word d, word e, word f)                                  \
	{                                                                                          \
		static forwarded *to;                                                              \
		forwarded *fn = __atomic_load_n(&to, __ATOMIC_RELAXED);                            \
		if (!fn)                                                                           \
			fn = (forwarded *)(uintptr_t)function(#name);                              \
		__atomic_store_n(&to, fn, __ATOMIC_RELAXED);                                       \
		return fn ? fn(a, b, c, d, e, f) : FAILED;                                         \
	}

FORWARD(nvrtcVersion)
FORWARD(nvrtcGetNumSupportedArchs)
FORWARD(nvrtcGetSupportedArchs)
FORWARD(nvrtcGetLTOIRSize)
FORWARD(nvrtcGetLTOIR)
FORWARD(nvrtcGetLoweredName)
FORWARD(nvrtcSetFlowCallback)

__attribute__((visibility("default"))) const char *nvrtcGetErrorString(int error);
const char *nvrtcGetErrorString(int error)
{
	const char *(*fn)(int) = (const char *(*)(int))(uintptr_t)function("nvrtcGetErrorString");

	return fn ? fn(error) : "the stand-in found no NVRTC";
}

static int call(const char *name, word program, void *out)
{
	forwarded *fn = (forwarded *)(uintptr_t)function(name);

	return fn ? (int)fn(program, (word)out, 0, 0, 0, 0) : FAILED;
}

/* What a user asks for after a compilation: from what is kept, else from the real library. */
static int size_of(const char *name, enum kept_part part, word program, size_t *bytes)
{
	const struct kept_answer *a = kept_answer(program);

	if (!a)
		return call(name, program, bytes);
	*bytes = a->bytes[part];
	return 0;
}

static int bytes_of(const char *name, enum kept_part part, word program, char *to)
{
	const struct kept_answer *a = kept_answer(program);

	if (!a)
		return call(name, program, to);
	memcpy(to, a->data[part], a->bytes[part]);
	return 0;
}

#define ANSWER(what, part)                                                                         \
	__attribute__((visibility("default"))) int nvrtcGet##what##Size(word program,              \
									size_t *bytes);            \
	int nvrtcGet##what##Size(word program, size_t *bytes)                                      \
	{                                                                                          \
		return size_of("nvrtcGet" #what "Size", part, program, bytes);                     \
	}                                                                                          \
	__attribute__((visibility("default"))) int nvrtcGet##what(word program, char *to);         \
	int nvrtcGet##what(word program, char *to)                                                 \
	{                                                                                          \
		return bytes_of("nvrtcGet" #what, part, program, to);                              \
	}

ANSWER(PTX, KEPT_PTX)
ANSWER(ProgramLog, KEPT_LOG)

static char *product(word program, enum kept_part part, const char *size, const char *get,
		     size_t *bytes)
{
	char *data = NULL;

	*bytes = 0;
	if (!size_of(size, part, program, bytes) && *bytes)
		data = calloc(1, *bytes + 1);
	if (data && bytes_of(get, part, program, data)) {
		free(data);
		data = NULL;
	}
	return data;
}

static char *ptx_of(word program, size_t *bytes)
{
	return product(program, KEPT_PTX, "nvrtcGetPTXSize", "nvrtcGetPTX", bytes);
}

static void write_file(const char *path, const char *text)
{
	char temporary[1100];

	snprintf(temporary, sizeof(temporary), "%s.%ld.%lx", path, (long)getpid(),
		 (unsigned long)pthread_self());
	FILE *f = fopen(temporary, "we");
	bool good = f && fputs(text, f) >= 0;
	if (f)
		good &= !fclose(f);
	if (!good || rename(temporary, path))
		fprintf(stderr, "standin: cannot write %s\n", path);
}

/* As the real one, and a tag behind it. */
__attribute__((visibility("default"))) int nvrtcGetCUBINSize(word program, size_t *bytes);
int nvrtcGetCUBINSize(word program, size_t *bytes)
{
	int error = size_of("nvrtcGetCUBINSize", KEPT_CUBIN, program, bytes);

	if (!error && *bytes)
		*bytes += sizeof(struct cubin_tag);
	return error;
}

__attribute__((visibility("default"))) int nvrtcGetCUBIN(word program, char *cubin);
int nvrtcGetCUBIN(word program, char *cubin)
{
	int error = bytes_of("nvrtcGetCUBIN", KEPT_CUBIN, program, cubin);
	struct cubin_tag tag;
	size_t bytes, ptx_bytes;

	if (!error)
		error = size_of("nvrtcGetCUBINSize", KEPT_CUBIN, program, &bytes);
	if (error || !bytes)
		return error;
	char *ptx = ptx_of(program, &ptx_bytes);
	if (!ptx)
		return FAILED;
	tag = cubin_tag(ptx);
	memcpy(cubin + bytes, &tag, sizeof(tag));
	free(ptx);
	return 0;
}

static void keep_ptx(word program)
{
	size_t cubin_size = 0, ptx_size;
	char path[1024];

	if (size_of("nvrtcGetCUBINSize", KEPT_CUBIN, program, &cubin_size) || !cubin_size)
		return;
	char *ptx = ptx_of(program, &ptx_size);
	if (ptx) {
		struct cubin_tag tag = cubin_tag(ptx);
		if (cubin_path(&tag, path, sizeof(path)))
			write_file(path, ptx);
	}
	free(ptx);
}

/* Which NVRTC it is: its file, and when that was put there. */
static void identity(char *text, size_t cap)
{
	void *version = dlsym(real, "nvrtcVersion");
	struct stat st;
	Dl_info info;

	if (dladdr(version, &info) && !stat(info.dli_fname, &st))
		snprintf(text, cap, "%s %lld %lld.%09ld", info.dli_fname, (long long)st.st_size,
			 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	else
		snprintf(text, cap, "%ld", (long)getpid());
}

static void keep(word program)
{
	struct kept_answer a;

	a.data[KEPT_LOG] = product(program, KEPT_LOG, "nvrtcGetProgramLogSize",
				   "nvrtcGetProgramLog", &a.bytes[KEPT_LOG]);
	a.data[KEPT_PTX] = ptx_of(program, &a.bytes[KEPT_PTX]);
	a.data[KEPT_CUBIN] = product(program, KEPT_CUBIN, "nvrtcGetCUBINSize", "nvrtcGetCUBIN",
				     &a.bytes[KEPT_CUBIN]);
	bool whole = a.data[KEPT_PTX];
	for (unsigned i = 0; i < KEPT_PARTS; i++)
		whole &= !a.bytes[i] || a.data[i];
	if (whole)
		kept_store(program, &a);
	for (unsigned i = 0; i < KEPT_PARTS; i++)
		free(a.data[i]);
}

__attribute__((visibility("default"))) word nvrtcCompileProgram(word program, word n,
								const char *const *options);
word nvrtcCompileProgram(word program, word n, const char *const *options)
{
	forwarded *fn = (forwarded *)(uintptr_t)function("nvrtcCompileProgram");
	char which[1200];
	word error = FAILED;

	if (!fn)
		return error;
	identity(which, sizeof(which));
	if (kept_compiled_once(program, which, (size_t)(int)n, options)) {
		error = 0;
	} else {
		error = fn(program, n, (word)options, 0, 0, 0);
		if (!error)
			keep(program);
	}
	if (!error)
		keep_ptx(program);
	return error;
}

__attribute__((visibility("default"))) word nvrtcCreateProgram(word *program, const char *text,
							       const char *name, word headers,
							       word header, word include);
word nvrtcCreateProgram(word *program, const char *text, const char *name, word headers,
			word header, word include)
{
	forwarded *fn = (forwarded *)(uintptr_t)function("nvrtcCreateProgram");
	word error =
		fn ? fn((word)program, (word)text, (word)name, headers, header, include) : FAILED;

	if (!error && !(int)headers)
		kept_created(*program, text, name);
	return error;
}

__attribute__((visibility("default"))) int nvrtcDestroyProgram(word *program);
int nvrtcDestroyProgram(word *program)
{
	kept_destroyed(*program);
	return call("nvrtcDestroyProgram", (word)program, NULL);
}

/* The names that it then tells are not kept. */
__attribute__((visibility("default"))) int nvrtcAddNameExpression(word program, char *name);
int nvrtcAddNameExpression(word program, char *name)
{
	kept_never(program);
	return call("nvrtcAddNameExpression", program, name);
}
