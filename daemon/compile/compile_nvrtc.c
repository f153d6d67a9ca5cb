/* SPDX-License-Identifier: Apache-2.0 */
/* compile/compile_nvrtc.c - one compilation by NVRTC: CUDA C++ to cubin or PTX.
 *
 * Runs in the compile helper, in the helper's own process, under limits of CPU time
 * and memory; wall clock is the daemon's business, which ends a helper that is late.
 * NVRTC is loaded at its first use and needs no GPU and no driver. */
#define _GNU_SOURCE
#include "compile.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/textbuf.h"
#include "base/xalloc.h"
#include "contract/backend.h"

#define MAX_ARCHS   64
#define MAX_OPTIONS 16

typedef struct nvrtc_program_s *nvrtc_program;

struct nvrtc {
	void *handle;
	char library[COMPILE_PATH_BYTES];
	int version; /* 1000 * major + minor */
	int narch, arch[MAX_ARCHS];
#define NVRTC(name, params, needed) int(*name) params;
#include "nvrtc_api.def"
#undef NVRTC
	const char *(*GetErrorString)(int);
};

/* The helper is one thread. */
static struct nvrtc nvrtc;

static const struct {
	const char *name;
	size_t offset;
	bool needed;
} functions[] = {
#define NVRTC(name, params, needed) {"nvrtc" #name, offsetof(struct nvrtc, name), needed},
#include "nvrtc_api.def"
#undef NVRTC
	{"nvrtcGetErrorString", offsetof(struct nvrtc, GetErrorString), true}};

static enum status load(const char *library, struct err *err)
{
	int major = 0, minor = 0;

	if (nvrtc.handle && !strcmp(nvrtc.library, library))
		return OK;
	nvrtc.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!nvrtc.handle)
		return err_set(err, E_SYSTEM, "cannot load NVRTC: %s", dlerror());
	for (unsigned i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		void *f = dlsym(nvrtc.handle, functions[i].name);

		if (!f && functions[i].needed) {
			nvrtc.handle = NULL;
			return err_set(err, E_SYSTEM, "%s has no %s: it is no usable NVRTC",
				       library, functions[i].name);
		}
		memcpy((char *)&nvrtc + functions[i].offset, &f, sizeof f);
	}
	nvrtc.Version(&major, &minor);
	nvrtc.version = 1000 * major + minor;
	nvrtc.narch = 0;
	if (nvrtc.GetNumSupportedArchs && nvrtc.GetSupportedArchs &&
	    !nvrtc.GetNumSupportedArchs(&nvrtc.narch) && nvrtc.narch <= MAX_ARCHS)
		nvrtc.GetSupportedArchs(nvrtc.arch);
	else
		nvrtc.narch = 0;
	snprintf(nvrtc.library, sizeof nvrtc.library, "%s", library);
	return OK;
}

/* Embedded GPUs: their code runs on no other of the same family. */
static bool apart(unsigned arch)
{
	return arch == 53 || arch == 62 || arch == 72 || arch == 87 || arch == 88 || arch == 101 ||
	       arch == 110;
}

/* The architecture to compile for: the greatest that runs on `arch`.  A cubin runs
 * on later ones of its major version only; PTX on every later one. */
static unsigned choose_arch(unsigned arch, bool *ptx)
{
	unsigned same = 0, any = 0;

	for (int i = 0; i < nvrtc.narch; i++) {
		unsigned a = (unsigned)nvrtc.arch[i];

		if (a != arch && apart(a))
			continue;
		if (a <= arch && a > any)
			any = a;
		if (a <= arch && a / 10 == arch / 10 && a > same)
			same = a;
	}
	*ptx = !nvrtc.GetCUBIN || !nvrtc.GetCUBINSize || !same;
	if (!nvrtc.narch) { /* it cannot tell: believe the caller */
		*ptx = !nvrtc.GetCUBIN || !nvrtc.GetCUBINSize;
		return arch;
	}
	return *ptx ? any : same;
}

void compile_nvrtc_options(char *buf, size_t n, unsigned arch, bool ptx, int version)
{
	struct textbuf t = {buf, n, 0};

	/* Nothing here may change values: no contraction; division, square root and
	 * denormals are IEEE's by default. */
	textbuf_put(&t, "--gpu-architecture=%s_%u --std=c++17 -default-device --fmad=false -w",
		    ptx ? "compute" : "sm", arch);
	/* Registers and spills come in the log. */
	if (!ptx)
		textbuf_put(&t, " --ptxas-options=-v");
	/* It would change the stack limit of the whole process. */
	if (version >= 11007)
		textbuf_put(&t, " --modify-stack-limit=false");
	/* Its own cache loads the driver, which nothing here needs. */
	if (version >= 12009)
		textbuf_put(&t, " --no-cache");
}

/* The greatest number that stands before `unit` in the log. */
static uint32_t most_before(const char *log, const char *unit)
{
	unsigned long most = 0;

	for (const char *at = log; (at = strstr(at, unit)); at++) {
		const char *from = at;

		while (from > log && from[-1] >= '0' && from[-1] <= '9')
			from--;
		if (strtoul(from, NULL, 10) > most)
			most = strtoul(from, NULL, 10);
	}
	return (uint32_t)most;
}

static char *read_text(int fd)
{
	struct stat st;
	char *text = NULL;
	size_t have = 0;

	if (fstat(fd, &st) || st.st_size < 0)
		return NULL;
	text = xmalloc((size_t)st.st_size + 1);
	while (have < (size_t)st.st_size) {
		ssize_t r = pread(fd, text + have, (size_t)st.st_size - have, (off_t)have);

		if (r <= 0) {
			free(text);
			return NULL;
		}
		have += (size_t)r;
	}
	text[have] = 0;
	return text;
}

/* A compiler that runs away ends by a signal, and with it this process. */
static void limit_process(void)
{
	struct rlimit cpu, memory = {COMPILE_MEMORY_BYTES, COMPILE_MEMORY_BYTES};
	const struct rlimit core = {0, 0};
	unsigned long pages = 0;
	struct rusage used;
	FILE *f = fopen("/proc/self/statm", "re");

	getrlimit(RLIMIT_CPU, &cpu);
	getrusage(RUSAGE_SELF, &used);
	cpu.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + COMPILE_CPU_SECONDS;
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &core);
	/* A process that is larger already (a sanitizer's) keeps what it has. */
	if (f && fscanf(f, "%lu", &pages) == 1 &&
	    pages * (unsigned long)sysconf(_SC_PAGESIZE) < COMPILE_MEMORY_BYTES / 2)
		setrlimit(RLIMIT_AS, &memory);
	if (f)
		fclose(f);
}

static char *take_log(nvrtc_program p)
{
	size_t n = 0;
	char *log;

	if (nvrtc.GetProgramLogSize(p, &n))
		n = 0;
	log = xcalloc(n + 1, 1);
	if (n)
		nvrtc.GetProgramLog(p, log);
	return log;
}

static int compile(nvrtc_program p, char *options)
{
	const char *option[MAX_OPTIONS];
	char *save = NULL;
	int n = 0;

	for (char *o = strtok_r(options, " ", &save); o && n < MAX_OPTIONS;
	     o = strtok_r(NULL, " ", &save))
		option[n++] = o;
	return nvrtc.CompileProgram(p, n, option);
}

static enum status take_code(int *out, uint64_t *bytes, nvrtc_program p, bool ptx, struct err *err)
{
	size_t n = 0;
	char *code = NULL;
	int e = ptx ? nvrtc.GetPTXSize(p, &n) : nvrtc.GetCUBINSize(p, &n);
	enum status st;

	if (!e && n && n <= COMPILE_OBJECT_BYTES) {
		code = xmalloc(n);
		e = ptx ? nvrtc.GetPTX(p, code) : nvrtc.GetCUBIN(p, code);
	}
	if (e || !code) {
		free(code);
		return err_set(err, E_COMPILE, "NVRTC gave no code (%zu bytes): %s", n,
			       nvrtc.GetErrorString(e));
	}
	st = compile_wire_memfd(out, "braze-cubin", code, n, err);
	*bytes = n;
	free(code);
	return st;
}

enum status compile_nvrtc_run(int *out, uint64_t *bytes, struct compile_nvrtc *job, int source,
			      char log[COMPILE_LOG_BYTES], struct err *err)
{
	nvrtc_program p = NULL;
	char options[512], *text = NULL, *words = NULL;
	enum status st = load(job->library, err);
	unsigned arch;
	bool ptx;
	int e;

	log[0] = 0;
	if (st)
		return st;
	arch = choose_arch(job->arch, &ptx);
	if (!arch)
		return err_set(err, E_COMPILE, "NVRTC %d.%d (%s) knows no architecture up to %u.%u",
			       nvrtc.version / 1000, nvrtc.version % 1000, job->library,
			       job->arch / 10, job->arch % 10);
	compile_nvrtc_options(options, sizeof options, arch, ptx, nvrtc.version);
	text = read_text(source);
	if (!text)
		return err_set(err, E_SYSTEM, "cannot read the source");
	limit_process();
	e = nvrtc.CreateProgram(&p, text, "kernel.cu", 0, NULL, NULL);
	if (!e)
		e = compile(p, options);
	words = p ? take_log(p) : xstrdup("");
	snprintf(log, COMPILE_LOG_BYTES, "%s", words);
	if (e)
		st = err_set(err, E_COMPILE, "NVRTC: %s: %.160s", nvrtc.GetErrorString(e), words);
	else
		st = take_code(out, bytes, p, ptx, err);
	job->registers = most_before(words, " registers");
	job->spill_bytes = most_before(words, " bytes spill stores");
	if (p)
		nvrtc.DestroyProgram(&p);
	free(words);
	free(text);
	return st;
}

enum status compile_cuda(int *out, struct compile_reply *r, const struct compile_request *q,
			 int source, struct err *err)
{
	struct compile_nvrtc job = {.library = q->compiler, .arch = backend_number(q->arch)};
	enum status st = compile_nvrtc_run(out, &r->code_bytes, &job, source, r->log, err);

	r->registers = job.registers;
	r->spill_bytes = job.spill_bytes;
	return st;
}
