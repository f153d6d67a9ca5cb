/* SPDX-License-Identifier: Apache-2.0 */
/* worker/tier1.c: objects made by the real compiler become functions. */
#define _GNU_SOURCE
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/compile.h"
#include "emit/emit_c.h"
#include "worker/tier1.h"

static int compile(const char *source)
{
	char folder[] = "/tmp/braze-test-XXXXXX", log[COMPILE_LOG_BYTES];
	char compiler[COMPILE_PATH_BYTES];
	struct compile_job job = {
		.compiler = compiler, .isa = isa_best(), .timeout_ms = 30000, .watch = -1};
	struct err err = {OK, ""};
	int in = -1, out = -1;
	uint64_t bytes = 0;

	job.folder = mkdtemp(folder);
	cr_assert(compile_target_find(compiler, NULL));
	cr_assert_eq(compile_wire_memfd(&in, "s", source, strlen(source), &err), OK);
	cr_assert_eq(compile_run(&out, &bytes, &job, in, log, &err), OK, "%s", log);
	close(in);
	cr_assert_eq(rmdir(folder), 0, "files were left");
	return out;
}

/* y = x + s, x contiguous float64. */
static struct nest nest_add(void)
{
	struct nest n;

	memset(&n, 0, sizeof n);
	n.npar = 1;
	n.width = 8;
	n.naccess = 2;
	n.nscalar = 1;
	n.scalar_dtype[0] = DT_FLOAT64;
	n.access[0] = (struct nest_access){.dtype = DT_FLOAT64, .walk = WALK_UNIT, .alone = 1};
	n.access[1] = (struct nest_access){
		.dtype = DT_FLOAT64, .write = 1, .walk = WALK_UNIT, .alone = 1};
	n.instr[0] = (struct nest_instr){.op = NI_LOAD, .dtype = DT_FLOAT64};
	n.instr[1] = (struct nest_instr){.op = NI_SCALAR, .dtype = DT_FLOAT64};
	n.instr[2] = (struct nest_instr){
		.op = OP_ADD, .dtype = DT_FLOAT64, .ltype = DT_FLOAT64, .a = 0, .b = 1};
	n.instr[3] = (struct nest_instr){.op = NI_STORE, .dtype = DT_FLOAT64, .a = 1, .b = 2};
	n.ninstr = n.post = 4;
	return n;
}

TestSuite(tier1, .timeout = 60);

Test(tier1, a_compiled_map_computes_every_point_of_its_range_and_no_other)
{
	struct nest n = nest_add();
	double x[40], y[40];
	char *base[2] = {(char *)x, (char *)y};
	int64_t extent[1] = {40}, stride[16] = {8, [8] = 8};
	uint64_t scalar[2] = {0};
	uint32_t cancel = 0;
	struct bz_args a = {base, extent, stride, scalar, &cancel, 0, NULL, NULL};
	struct err err = {OK, ""};
	struct tier1 t;
	char *source = NULL;
	double s = 0.5;
	int fd;

	cr_assert_eq(emit_c_source(&source, &n, &err), OK, "%s", err.text);
	fd = compile(source);
	cr_assert_eq(tier1_load(&t, fd, &n, &err), OK, "%s", err.text);
	close(fd);
	memcpy(scalar, &s, sizeof s);
	for (int i = 0; i < 40; i++) {
		x[i] = i;
		y[i] = -1;
	}
	t.map(&a, 3, 39);
	for (int i = 0; i < 40; i++)
		cr_assert_eq(y[i], i >= 3 && i < 39 ? i + 0.5 : -1.0, "%d", i);
	cancel = 1;
	y[3] = -2;
	t.map(&a, 3, 39);
	cr_assert_eq(y[3], -2, "a cancelled kernel stops");
	tier1_unload(&t);
	free(source);
}

Test(tier1, two_objects_through_one_descriptor_number_stay_apart)
{
	struct nest n = nest_add();
	struct err err = {OK, ""};
	struct tier1 a, b;
	int fd = compile("void bz_map(void *a, long lo, long hi) { *(int *)a = 1; }\n"), again;
	int got = 0;

	cr_assert_eq(tier1_load(&a, fd, &n, &err), OK, "%s", err.text);
	again = compile("void bz_map(void *a, long lo, long hi) { *(int *)a = 2; }\n");
	dup2(again, fd);
	close(again);
	cr_assert_eq(tier1_load(&b, fd, &n, &err), OK, "%s", err.text);
	close(fd);
	a.map((void *)&got, 0, 0);
	cr_assert_eq(got, 1);
	b.map((void *)&got, 0, 0);
	cr_assert_eq(got, 2);
	tier1_unload(&a);
	tier1_unload(&b);
}

/* Has a page table the page of this address? */
static bool is_present(const void *address)
{
	uint64_t word = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	off_t at = (off_t)((uintptr_t)address / (uintptr_t)sysconf(_SC_PAGESIZE)) * 8;

	cr_assert_geq(fd, 0);
	cr_assert_eq(pread(fd, &word, sizeof word, at), (ssize_t)sizeof word);
	close(fd);
	return word >> 63;
}

/* A masked load whose mask is empty never brings a page, and is slow as long as it is away. */
Test(tier1, a_kernels_constants_are_in_memory_before_it_runs)
{
	struct nest n = nest_add();
	struct err err = {OK, ""};
	struct tier1 t;
	int fd = compile("const char table[1 << 16] = {1};\n"
			 "void bz_map(void *a, long lo, long hi) { *(const char **)a = table; }\n");
	const char *table = NULL;

	cr_assert_eq(tier1_load(&t, fd, &n, &err), OK, "%s", err.text);
	close(fd);
	t.map((void *)&table, 0, 0);
	for (int at = 0; at < 1 << 16; at += 4096)
		cr_assert(is_present(table + at), "%d", at);
	tier1_unload(&t);
}

Test(tier1, what_is_no_kernel_is_refused)
{
	struct nest n = nest_add();
	struct err err = {OK, ""};
	struct tier1 t;
	int fd = -1;

	cr_assert_eq(compile_wire_memfd(&fd, "junk", "junk", 4, &err), OK);
	cr_assert_eq(tier1_load(&t, fd, &n, &err), E_COMPILE);
	close(fd);
	fd = compile("int x;\n");
	cr_assert_eq(tier1_load(&t, fd, &n, &err), E_COMPILE);
	cr_assert(strstr(err.text, "bz_map"), "%s", err.text);
	n.nred = 1;
	cr_assert_eq(tier1_load(&t, fd, &n, &err), E_COMPILE);
	cr_assert(strstr(err.text, "bz_reduce"), "%s", err.text);
	close(fd);
	fd = compile("extern int nowhere(void); void bz_map(void) { nowhere(); }\n");
	n.nred = 0;
	cr_assert_eq(tier1_load(&t, fd, &n, &err), E_COMPILE);
	close(fd);
	cr_assert_eq(tier1_load(&t, -1, &n, &err), E_SYSTEM);
}
