/* SPDX-License-Identifier: Apache-2.0 */
/* cu_module.c - modules from PTX, or from a cubin whose PTX the stand-in's NVRTC kept. */
#include "cu.h"
#include "cubin.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	long size;

	if (!f)
		return NULL;
	if (!fseek(f, 0, SEEK_END) && (size = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET)) {
		text = cu_alloc((size_t)size + 1);
		text[fread(text, 1, (size_t)size, f)] = 0;
	}
	fclose(f);
	return text;
}

/* A driver takes no code of a later CUDA than its own: neither the object format that
 * came with 13, nor the PTX, whose versions are four behind. */
static bool too_new(const void *data, char *log, size_t cap)
{
	enum { OSABI = 7, OSABI_13 = 0x41 };
	const char *image = data;
	unsigned needs = 0, driver = cu_config.driver / 1000;
	const char *version = cubin_is(image) ? NULL : strstr(image, ".version");

	if (!version)
		needs = cubin_is(image) && image[OSABI] == OSABI_13 ? 13 : 0;
	else if (sscanf(version, ".version %u", &needs) == 1)
		needs += 4;
	if (needs > driver)
		snprintf(log, cap, "code of CUDA %u; the driver is of %u", needs, driver);
	return needs > driver;
}

/* The PTX of an image; text is freed by the caller. */
static CUresult ptx_of(const void *image, char **text, char *log, size_t cap)
{
	struct cubin_tag tag;
	char path[1024];

	if (!cubin_is(image)) {
		const char *p = image;

		while (isspace((unsigned char)*p))
			p++;
		if ((*p != '.' && *p != '/') || !strstr(p, ".version")) {
			snprintf(log, cap, "neither a cubin nor PTX");
			return CUDA_ERROR_INVALID_IMAGE;
		}
		*text = strdup(image);
		return *text ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!cubin_tagged(&tag, image)) {
		snprintf(log, cap, "a cubin without a tag: compile with the stand-in's NVRTC");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	if (!cubin_path(&tag, path, sizeof(path))) {
		snprintf(log, cap,
			 "a cubin, but BRAZE_STANDIN_PTX does not name the folder with its PTX");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	*text = read_file(path);
	if (*text)
		return CUDA_SUCCESS;
	snprintf(log, cap, "a cubin whose PTX %s is not there: compile with the stand-in's NVRTC",
		 path);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* The module that is being loaded, for its variables. */
struct loading {
	struct CUctx_st *context;
	struct CUmod_st *module;
};

static uint64_t allocate(void *data, size_t n, char **host)
{
	struct loading *l = data;
	struct CUmod_st *m = l->module;
	CUdeviceptr address;

	pthread_mutex_lock(&cu_lock);
	CUresult error = cu_memory_make(l->context, n, NULL, false, &address);
	pthread_mutex_unlock(&cu_lock);
	if (error)
		return 0;
	m->variables = realloc(m->variables, (m->nvariables + 1) * sizeof(*m->variables));
	if (!m->variables)
		abort();
	m->variables[m->nvariables++] = address;
	*host = cu_memory_host(address, n);
	memset(*host, 0, n);
	return address;
}

static void delete_module(struct CUmod_st *m)
{
	pthread_mutex_lock(&cu_lock);
	for (size_t k = 0; k < m->nvariables; k++)
		cu_memory_free(m->variables[k]);
	pthread_mutex_unlock(&cu_lock);
	while (m->functions) {
		struct CUfunc_st *f = m->functions;

		m->functions = f->next;
		cu_handle_remove(f);
		free(f);
	}
	if (m->ptx)
		ptx_unload(m->ptx);
	free(m->variables);
	free(m);
}

static void unlink_module(struct CUmod_st *m)
{
	struct CUmod_st **at = &m->context->modules;

	pthread_mutex_lock(&cu_lock);
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	pthread_mutex_unlock(&cu_lock);
	cu_handle_remove(m);
	delete_module(m);
}

void cu_module_free_all(struct CUctx_st *c)
{
	while (c->modules)
		unlink_module(c->modules);
}

/* As on a device: code for a newer one cannot run. */
static bool fits_device(int target, bool binary)
{
	int major = target / 10, minor = target % 10;
	int have = (int)(10 * cu_config.major + cu_config.minor);

	if (binary && (unsigned)major != cu_config.major)
		return false;
	return 10 * major + minor <= have;
}

static CUresult load(struct CUctx_st *c, const void *image, CUmodule *out, char *log, size_t cap)
{
	char *text = NULL;
	CUresult error = CUDA_SUCCESS;

	if (too_new(image, log, cap))
		return cubin_is(image) ? CUDA_ERROR_INVALID_IMAGE
				       : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	error = ptx_of(image, &text, log, cap);
	if (error)
		return error;
	struct CUmod_st *m = cu_alloc(sizeof(*m));
	struct loading l = {c, m};
	struct ptx_host host = {.data = &l, .allocate = allocate};
	m->context = c;
	m->ptx = ptx_load(text, &host, log, cap);
	free(text);
	if (!m->ptx) {
		delete_module(m);
		return CUDA_ERROR_INVALID_PTX;
	}
	if (!fits_device(ptx_target(m->ptx), cubin_is(image))) {
		snprintf(log, cap, "code for sm_%d on a device of capability %u.%u",
			 ptx_target(m->ptx), cu_config.major, cu_config.minor);
		delete_module(m);
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	pthread_mutex_lock(&cu_lock);
	m->next = c->modules;
	c->modules = m;
	pthread_mutex_unlock(&cu_lock);
	cu_handle_add(CU_MODULE, m);
	*out = m;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned noptions,
			    CUjit_option *options, void **values)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);
	char log[1536] = "", *to = NULL;
	size_t cap = 0;

	if (error)
		return error;
	for (unsigned k = 0; k < noptions; k++) {
		if (options[k] == CU_JIT_ERROR_LOG_BUFFER)
			to = values[k];
		else if (options[k] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			cap = (size_t)(uintptr_t)values[k];
	}
	error = load(c, image, out, log, sizeof(log));
	if (to && cap)
		snprintf(to, cap, "%s", log);
	if (error)
		cu_log("module refused with %d: %s", (int)error, log);
	return error;
}

static CUresult enter_module(const char *function, CUmodule m, struct CUctx_st **c)
{
	CUresult error = cu_enter_context(function, c);

	if (error)
		return error;
	return cu_handle_ok(CU_MODULE, m) && m->context == *c ? CUDA_SUCCESS
							      : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleUnload(CUmodule module)
{
	struct CUctx_st *c;
	CUresult error = enter_module(__func__, module, &c);

	if (error)
		return error;
	cu_stream_drain_all(c);
	unlink_module(module);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
	struct CUctx_st *c;
	CUresult error = enter_module(__func__, module, &c);

	if (error)
		return error;
	struct ptx_function *kernel = ptx_find_kernel(module->ptx, name);
	if (!kernel)
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&cu_lock);
	struct CUfunc_st *f = module->functions;
	while (f && f->kernel != kernel)
		f = f->next;
	if (!f) {
		f = cu_alloc(sizeof(*f));
		*f = (struct CUfunc_st){
			.module = module, .next = module->functions, .kernel = kernel};
		f->max_dynamic = 49152 - (int)ptx_shared_bytes(kernel);
		module->functions = f;
		cu_handle_add(CU_FUNCTION, f);
	}
	pthread_mutex_unlock(&cu_lock);
	*out = f;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *bytes, CUmodule module, const char *name)
{
	struct CUctx_st *c;
	CUresult error = enter_module(__func__, module, &c);
	size_t size = 0;

	if (error)
		return error;
	uint64_t address = ptx_find_variable(module->ptx, name, &size);
	if (!address)
		return CUDA_ERROR_NOT_FOUND;
	if (out)
		*out = address;
	if (bytes)
		*bytes = size;
	return CUDA_SUCCESS;
}
