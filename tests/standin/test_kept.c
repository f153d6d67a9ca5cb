/* SPDX-License-Identifier: Apache-2.0 */
/* What NVRTC made is kept: the same text and options get it, and nothing else does. */
#include "harness.h"
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int nvrtc_fn();

static void *nvrtc;
static char folder[] = "/tmp/standin-kept-XXXXXX";

static nvrtc_fn *entry(const char *name)
{
	nvrtc_fn *fn;

	*(void **)&fn = dlsym(nvrtc, name);
	cr_assert(fn, "%s", name);
	return fn;
}

static void set_up(void)
{
	int version[2];

	cr_assert(mkdtemp(folder));
	setenv("BRAZE_STANDIN_KEPT", folder, 1);
	setenv("BRAZE_STANDIN_PTX", folder, 1);
	nvrtc = dlopen(STANDIN_LIBNVRTC, RTLD_NOW | RTLD_LOCAL);
	cr_assert(nvrtc, "%s", dlerror());
	if (entry("nvrtcVersion")(&version[0], &version[1]))
		cr_skip_test("no NVRTC");
}

static bool is_kept(const char *name)
{
	return *name != '.' && !strstr(name, ".ptx");
}

/* Path of the only file that is kept; the number of them. */
static unsigned kept(char path[512])
{
	DIR *d = opendir(folder);
	unsigned n = 0;

	for (struct dirent *e; (e = readdir(d));)
		if (is_kept(e->d_name)) {
			snprintf(path, 512, "%s/%s", folder, e->d_name);
			n++;
		}
	closedir(d);
	return n;
}

static void tear_down(void)
{
	char path[512];
	DIR *d = opendir(folder);

	for (struct dirent *e; d && (e = readdir(d));)
		if (*e->d_name != '.') {
			snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
			unlink(path);
		}
	if (d)
		closedir(d);
	rmdir(folder);
}

struct made {
	int error;
	char *part[3]; /* log, PTX, cubin */
	size_t bytes[3];
};

static struct made compile_named(const char *text, const char *arch, bool named)
{
	static const char *const parts[] = {"ProgramLog", "PTX", "CUBIN"};
	const char *opts[] = {arch, "--std=c++17", "-default-device"};
	struct made m = {0};
	char name[40];
	void *program;

	cr_assert_eq(entry("nvrtcCreateProgram")(&program, text, "k.cu", 0, NULL, NULL), 0);
	if (named)
		cr_assert_eq(entry("nvrtcAddNameExpression")(program, "f"), 0);
	m.error = entry("nvrtcCompileProgram")(program, 3, opts);
	for (unsigned i = 0; i < (m.error ? 1 : 3); i++) {
		snprintf(name, sizeof(name), "nvrtcGet%sSize", parts[i]);
		cr_assert_eq(entry(name)(program, &m.bytes[i]), 0, "%s", name);
		m.part[i] = calloc(1, m.bytes[i] + 1);
		snprintf(name, sizeof(name), "nvrtcGet%s", parts[i]);
		if (m.bytes[i])
			cr_assert_eq(entry(name)(program, m.part[i]), 0, "%s", name);
	}
	cr_assert_eq(entry("nvrtcDestroyProgram")(&program), 0);
	return m;
}

static struct made compile(const char *text, const char *arch)
{
	return compile_named(text, arch, false);
}

static bool same(const struct made *a, const struct made *b)
{
	bool yes = a->error == b->error;

	for (unsigned i = 0; i < 3; i++)
		yes = yes && a->bytes[i] == b->bytes[i] &&
		      (!a->bytes[i] || !memcmp(a->part[i], b->part[i], a->bytes[i]));
	return yes;
}

static void made_free(struct made *m)
{
	for (unsigned i = 0; i < 3; i++)
		free(m->part[i]);
}

/* Another PTX in the file, as long as the right one: who gets it did not ask NVRTC. */
static void mark(const char *path, const char *from, const char *to)
{
	char data[65536], *at;
	FILE *f = fopen(path, "r+");
	size_t n;

	cr_assert(f);
	n = fread(data, 1, sizeof(data), f);
	at = memmem(data, n, from, strlen(from));
	cr_assert(at);
	memcpy(at, to, strlen(to));
	rewind(f);
	cr_assert_eq(fwrite(data, 1, n, f), n);
	fclose(f);
}

TestSuite(kept, .init = set_up, .fini = tear_down, .timeout = 300);

#define SM_90 "--gpu-architecture=sm_90"
static const char text[] = "extern \"C\" __global__ void f(int *p) { *p = 12345; }\n";
static const char other[] = "extern \"C\" __global__ void f(int *p) { *p = 12346; }\n";

Test(kept, the_same_text_is_compiled_once)
{
	struct made first = compile(text, SM_90), again = compile(text, SM_90), marked;
	char path[512];

	cr_assert_eq(first.error, 0);
	cr_assert(first.bytes[1] && first.bytes[2]);
	cr_assert(same(&first, &again));
	cr_assert_eq(kept(path), 1);
	mark(path, "12345", "54321");
	marked = compile(text, SM_90);
	cr_assert(strstr(marked.part[1], "54321"));
	made_free(&first);
	made_free(&again);
	made_free(&marked);
}

Test(kept, another_text_or_architecture_is_compiled)
{
	struct made m[3];
	char path[512];

	m[0] = compile(text, SM_90);
	cr_assert_eq(kept(path), 1);
	mark(path, "12345", "54321");
	m[1] = compile(other, SM_90);
	m[2] = compile(text, "--gpu-architecture=sm_80");
	cr_assert(strstr(m[1].part[1], "12346") && strstr(m[2].part[1], "12345"));
	cr_assert(strstr(m[2].part[1], "sm_80"));
	cr_assert_eq(kept(path), 3);
	for (unsigned i = 0; i < 3; i++)
		made_free(&m[i]);
}

Test(kept, one_without_a_cubin_is_kept)
{
	struct made first = compile(text, "--gpu-architecture=compute_90");
	struct made again = compile(text, "--gpu-architecture=compute_90");
	char path[512];

	cr_assert(first.bytes[1] && !first.bytes[2]);
	cr_assert(same(&first, &again));
	cr_assert_eq(kept(path), 1);
	made_free(&first);
	made_free(&again);
}

Test(kept, a_damaged_file_is_made_anew)
{
	struct made first = compile(text, SM_90), again;
	char path[512];
	struct stat st;

	cr_assert_eq(kept(path), 1);
	cr_assert_eq(stat(path, &st), 0);
	for (off_t n = 0; n < st.st_size; n += st.st_size / 3) {
		cr_assert_eq(truncate(path, n), 0);
		again = compile(text, SM_90);
		cr_assert(same(&first, &again));
		made_free(&again);
	}
	mark(path, "bzkept", "zzkept");
	again = compile(text, SM_90);
	cr_assert(same(&first, &again));
	made_free(&again);
	made_free(&first);
}

Test(kept, what_is_refused_is_not_kept)
{
	struct made first = compile("no program\n", SM_90), again = compile("no program\n", SM_90);
	char path[512];

	cr_assert(first.error && strstr(first.part[0], "error"));
	cr_assert(same(&first, &again));
	cr_assert_eq(kept(path), 0);
	made_free(&first);
	made_free(&again);
}

Test(kept, names_that_are_asked_for_are_not_kept)
{
	struct made m = compile_named(text, SM_90, true);
	char path[512];

	cr_assert_eq(m.error, 0);
	cr_assert_eq(kept(path), 0);
	made_free(&m);
}

Test(kept, without_a_folder_nothing_is_kept)
{
	struct made m;
	char path[512];

	unsetenv("BRAZE_STANDIN_KEPT");
	m = compile(text, SM_90);
	cr_assert_eq(m.error, 0);
	cr_assert_eq(kept(path), 0);
	setenv("BRAZE_STANDIN_KEPT", "/no/such/folder", 1);
	made_free(&m);
	m = compile(text, SM_90);
	cr_assert(m.bytes[1] && m.bytes[2]);
	made_free(&m);
}
