/* SPDX-License-Identifier: Apache-2.0 */
/* cache/cache.c with a real helper process: this program, started again. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <criterion/options.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/cuda_find.h"
#include "cache/cache_code.h"
#include "compile/compile.h"
#include "product_step.h"
#include "sum_nest.h"

/* The program doubles as the helper; Criterion's own main never sees that call. */
__attribute__((constructor)) static void helper_if_asked(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--compile-helper"))
		_exit(compile_helper_main(atoi(argv[2])));
}

struct fixture {
	uv_loop_t loop;
	struct cache *cache;
	int ready, dropped;
	uint32_t last_ready;
};

static char folder[64];

static void setup(void)
{
	strcpy(folder, "/tmp/braze-test-XXXXXX");
	cr_assert(mkdtemp(folder));
}

static void remove_all(void)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(folder);
}

static void on_ready(void *data, struct kernel *k)
{
	struct fixture *f = data;

	f->ready++;
	f->last_ready = k->id;
}

static struct fixture *dropper;
static void on_drop(void *data, uint32_t id)
{
	cr_assert_eq(data, dropper);
	dropper->dropped++;
}

static struct fixture *start(struct cache_config c)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct err err = {OK, ""};

	uv_loop_init(&f->loop);
	c.self = "/proc/self/exe";
	cr_assert_eq(cache_create(&f->cache, &f->loop, &c, on_ready, f, &err), OK, "%s", err.text);
	dropper = f;
	cache_on_drop(f->cache, on_drop);
	return f;
}

static void stop(struct fixture *f)
{
	cache_destroy(f->cache);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&f->loop), 0, "handles are left");
	free(f);
}

/* Run the loop until this many announcements, or nothing more can come. */
static void wait_ready(struct fixture *f, int n)
{
	while (f->ready < n)
		if (!uv_run(&f->loop, UV_RUN_ONCE))
			break;
}

static void spin(struct fixture *f, int ms)
{
	for (int i = 0; i < ms; i++) {
		uv_run(&f->loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
}

static struct cache_stats stats(struct fixture *f)
{
	struct cache_stats s;

	cache_get_stats(f->cache, &s);
	return s;
}

/* Until so many files were written, each behind the compiler. */
static void wait_written(struct fixture *f, uint64_t n)
{
	while (stats(f).disk_writes < n)
		uv_run(&f->loop, UV_RUN_ONCE);
}

TestSuite(cache, .init = setup, .fini = remove_all, .timeout = 120);

Test(cache, one_nest_is_one_kernel_and_compiles_once_at_the_second_asking)
{
	struct fixture *f = start((struct cache_config){.tier = -1});
	struct kernel *a = cache_get(f->cache, sum_nest(1), 0, 7), *b;
	struct stat st;

	cr_assert_eq(a->state, KERNEL_ABSENT);
	cr_assert_eq(a->first_session, 7);
	b = cache_get(f->cache, sum_nest(1), 0, 8);
	cr_assert_eq(a, b);
	cr_assert_eq(a->refs, 2);
	cr_assert_eq(a->state, KERNEL_COMPILING);
	cr_assert_eq(cache_get(f->cache, sum_nest(1), 0, 8), a);
	cr_assert_neq(cache_get(f->cache, sum_nest(2), 0, 8), a);
	wait_ready(f, 1);
	cr_assert_eq(a->state, KERNEL_READY, "%s", a->error);
	cr_assert_eq(fstat(a->code_fd, &st), 0);
	cr_assert_eq((uint64_t)st.st_size, a->code_bytes);
	cr_assert_eq(stats(f).compiles, 1);
	cr_assert_eq(stats(f).hits, 2);
	cr_assert_eq(stats(f).misses, 2);
	cr_assert_eq(stats(f).kernels, 2);
	cr_assert_eq(cache_find(f->cache, a->id), a);
	cr_assert_null(cache_find(f->cache, 999));
	stop(f);
}

Test(cache, a_run_that_is_worth_it_compiles_at_once_and_a_small_one_does_not)
{
	struct fixture *f = start((struct cache_config){.tier = -1});
	struct kernel *small = cache_get(f->cache, sum_nest(1), 0, 1);
	struct kernel *big = cache_get(f->cache, sum_nest(2), 0, 1);

	cache_note_run(f->cache, small, 1000, 0);
	cr_assert_eq(small->state, KERNEL_ABSENT);
	cache_note_run(f->cache, small, 1000, 5000);
	cr_assert_eq(small->state, KERNEL_ABSENT);
	cr_assert_eq(small->runs, 1);
	cr_assert_eq(small->elements, 1000);
	cache_note_run(f->cache, big, 1000000000, 0);
	cr_assert_eq(big->state, KERNEL_COMPILING);
	cache_note_run(f->cache, small, 1000, 5000);
	cr_assert_eq(small->state, KERNEL_COMPILING, "two runs");
	wait_ready(f, 2);
	cr_assert_eq(small->state, KERNEL_READY);
	cr_assert_eq(big->state, KERNEL_READY);
	stop(f);
}

Test(cache, what_is_expected_of_a_kernel_is_what_its_present_code_has_taken_lately)
{
	struct fixture *f = start((struct cache_config){.tier = 0});
	struct kernel *k = cache_get(f->cache, sum_nest(1), 0, 1);

	cache_note_rate(k, 7, 1000, 9000);
	cr_assert_eq(cache_rate(k, 7)->runs, 1);
	cache_note_loaded(f->cache, k);
	cr_assert_eq(k->tier, 1);
	cr_assert_null(cache_rate(k, 7), "those were runs of the interpreter");
	for (int i = 0; i < 100; i++)
		cache_note_rate(k, 7, 1000, 9000);
	for (int i = 0; i < 100; i++)
		cache_note_rate(k, 7, 1000, 1000);
	cr_assert_lt((double)cache_rate(k, 7)->ns / (double)cache_rate(k, 7)->elements, 1.1);
	cache_note_loaded(f->cache, k);
	cr_assert_gt(cache_rate(k, 7)->runs, 0, "the same code in another worker");
	stop(f);
}

Test(cache, runs_of_one_shape_tell_nothing_of_another)
{
	struct fixture *f = start((struct cache_config){.tier = 0});
	struct kernel *k = cache_get(f->cache, sum_nest(1), 0, 1);

	cache_note_rate(k, 0, 1000, 1000);
	cache_note_rate(k, 1, 1000, 350000);
	cr_assert_eq(cache_rate(k, 0)->ns, 1000);
	cr_assert_eq(cache_rate(k, 1)->ns, 350000);
	/* Of too many shapes those that are run stay. */
	for (uint16_t i = 2; i < 3 * KERNEL_RATES; i++) {
		cr_assert_null(cache_rate(k, i));
		cache_note_rate(k, 0, 1000, 1000);
		cache_note_rate(k, i, 1000, i * 1000u);
	}
	cr_assert_eq(k->nrate, KERNEL_RATES);
	cr_assert_eq(cache_rate(k, 0)->ns, cache_rate(k, 0)->elements);
	for (uint16_t i = 2 * KERNEL_RATES + 1; i < 3 * KERNEL_RATES; i++)
		cr_assert_eq(cache_rate(k, i)->ns, i * 1000u);
	cr_assert_null(cache_rate(k, 1));
	stop(f);
}

Test(cache, a_quarantined_kernel_is_kept_and_counted)
{
	struct fixture *f = start((struct cache_config){.tier = 0, .memory_bytes = 1});
	struct kernel *bad = cache_get(f->cache, sum_nest(1), 0, 1);
	uint32_t id = bad->id;

	cache_blame(f->cache, bad, "once");
	cr_assert_eq(stats(f).quarantined, 0);
	cache_blame(f->cache, bad, "twice");
	cr_assert_eq(stats(f).quarantined, 1);
	cache_blame(f->cache, bad, "for good");
	cr_assert_eq(stats(f).quarantined, 1);
	cr_assert_str_eq(bad->blame, "for good");
	cache_unref(f->cache, bad);
	cache_unref(f->cache, cache_get(f->cache, sum_nest(2), 0, 1));
	cr_assert_eq(cache_find(f->cache, id), bad);
	stop(f);
}

Test(cache, tier_0_never_compiles_and_tier_1_at_first_sight)
{
	struct fixture *f = start((struct cache_config){.tier = 0, .dir = folder});
	struct kernel *k = cache_get(f->cache, sum_nest(1), 0, 1);

	cache_get(f->cache, sum_nest(1), 0, 1);
	cache_note_run(f->cache, k, 1u << 30, 0);
	cr_assert_eq(k->state, KERNEL_ABSENT);
	stop(f);
	f = start((struct cache_config){.tier = 1});
	k = cache_get(f->cache, sum_nest(1), 0, 1);
	cr_assert_eq(k->state, KERNEL_COMPILING);
	wait_ready(f, 1);
	cr_assert_eq(k->state, KERNEL_READY);
	stop(f);
}

Test(cache, a_second_cache_finds_the_code_on_disk_and_compiles_nothing)
{
	struct cache_config c = {.tier = 1, .dir = folder};
	struct fixture *f = start(c);
	struct kernel *k = cache_get(f->cache, sum_nest(3), 0, 1);

	wait_ready(f, 1);
	wait_written(f, 1);
	cr_assert_eq(stats(f).disk_writes, 1);
	stop(f);
	f = start(c);
	k = cache_get(f->cache, sum_nest(3), 0, 1);
	cr_assert_eq(k->state, KERNEL_COMPILING);
	cr_assert(cache_comes(f->cache, k));
	usleep(CACHE_COMES_MS * 1000 + 1000);
	cr_assert_not(cache_comes(f->cache, k), "nobody waits for a slow disk");
	wait_ready(f, 1);
	cr_assert_eq(k->state, KERNEL_READY);
	cr_assert(k->from_disk);
	cr_assert_eq(stats(f).disk_hits, 1);
	cr_assert_eq(stats(f).compiles, 0);
	stop(f);
}

Test(cache, a_damaged_entry_is_compiled_again)
{
	struct cache_config c = {.tier = 1, .dir = folder};
	struct fixture *f = start(c);
	char path[512] = "";
	struct dirent *e;
	struct kernel *k;
	DIR *dir;

	k = cache_get(f->cache, sum_nest(1), 0, 1);
	cr_assert_not(cache_comes(f->cache, k), "it is compiled, which takes long");
	wait_ready(f, 1);
	wait_written(f, 1);
	stop(f);
	dir = opendir(folder);
	while ((e = readdir(dir)))
		if (strstr(e->d_name, ".bzk"))
			snprintf(path, sizeof path, "%.60s/%.60s", folder, e->d_name);
	closedir(dir);
	cr_assert_eq(truncate(path, 1000), 0);
	f = start(c);
	k = cache_get(f->cache, sum_nest(1), 0, 1);
	cr_assert(cache_comes(f->cache, k));
	wait_ready(f, 1); /* who waits is told that it does not come */
	cr_assert_eq(k->state, KERNEL_COMPILING);
	wait_ready(f, 2);
	cr_assert_eq(stats(f).disk_errors, 1);
	cr_assert_eq(stats(f).compiles, 1);
	stop(f);
}

Test(cache, two_caches_on_one_folder_both_end_with_code)
{
	struct cache_config c = {.tier = 1, .dir = folder};
	struct fixture *f = start(c), *g = start(c);
	struct kernel *k[8];

	for (unsigned i = 0; i < 4; i++) {
		k[i] = cache_get(f->cache, sum_nest(i + 1), 0, 1);
		k[4 + i] = cache_get(g->cache, sum_nest(i + 1), 0, 1);
	}
	while (f->ready < 4 || g->ready < 4) {
		uv_run(&f->loop, UV_RUN_NOWAIT);
		uv_run(&g->loop, UV_RUN_NOWAIT);
		usleep(500);
	}
	spin(f, 50);
	spin(g, 50);
	for (unsigned i = 0; i < 8; i++)
		cr_assert_eq(k[i]->state, KERNEL_READY);
	cr_assert_eq(stats(f).disk_errors + stats(g).disk_errors, 0);
	stop(f);
	stop(g);
	f = start(c);
	for (unsigned i = 0; i < 4; i++)
		cache_get(f->cache, sum_nest(i + 1), 0, 1);
	wait_ready(f, 4);
	cr_assert_eq(stats(f).disk_hits, 4);
	stop(f);
}

Test(cache, memory_evicts_the_unused_and_never_the_used)
{
	struct fixture *f = start((struct cache_config){.tier = 0, .memory_bytes = 1});
	struct kernel *a = cache_get(f->cache, sum_nest(1), 0, 1);
	struct kernel *b = cache_get(f->cache, sum_nest(2), 0, 1);
	uint32_t id = a->id;

	cr_assert_eq(stats(f).kernels, 2);
	cr_assert_eq(f->dropped, 0);
	cache_unref(f->cache, a);
	cr_assert_eq(f->dropped, 1);
	cr_assert_null(cache_find(f->cache, id));
	cr_assert_eq(cache_find(f->cache, b->id), b);
	cr_assert_eq(stats(f).evictions, 1);
	a = cache_get(f->cache, sum_nest(1), 0, 1);
	cr_assert_neq(a->id, id, "ids never come again");
	cache_unref(f->cache, a);
	cache_unref(f->cache, b);
	cr_assert_eq(stats(f).kernels, 0);
	cr_assert_eq(stats(f).bytes, 0);
	stop(f);
}

Test(cache, many_kernels_are_all_found_again_in_order_of_use)
{
	struct fixture *f = start((struct cache_config){.tier = 0});
	struct kernel *k[200];

	for (unsigned i = 0; i < 200; i++)
		k[i] = cache_get(f->cache, sum_nest(i + 1), 0, 1);
	for (unsigned i = 0; i < 200; i++)
		cr_assert_eq(cache_get(f->cache, sum_nest(i + 1), 0, 1), k[i]);
	cr_assert_eq(stats(f).kernels, 200);
	stop(f);
}

Test(cache, no_compiler_leaves_tier_0_and_says_why)
{
	struct fixture *f = start((struct cache_config){.tier = 1, .compiler = "/no/such/cc"});
	struct kernel *k = cache_get(f->cache, sum_nest(1), 0, 1);

	cr_assert_eq(k->state, KERNEL_FAILED);
	cr_assert(strstr(k->error, "compiler"), "%s", k->error);
	stop(f);
}

/* A compiler that does what this shell text says. */
static void script(char path[64], const char *text)
{
	FILE *s;
	int fd;

	strcpy(path, "/tmp/braze-cc-test-XXXXXX");
	fd = mkstemp(path);
	s = fdopen(fd, "w");
	fprintf(s, "#!/bin/sh\n%s\n", text);
	fchmod(fd, 0700);
	fclose(s);
}

Test(cache, a_refused_source_fails_with_the_compilers_words)
{
	char path[64];
	struct fixture *f;
	struct kernel *k;

	script(path, "echo I will not compile that; exit 1");
	f = start((struct cache_config){.tier = 1, .compiler = path});
	k = cache_get(f->cache, sum_nest(1), 0, 1);
	wait_ready(f, 1);
	cr_assert_eq(k->state, KERNEL_FAILED);
	cr_assert(strstr(k->error, "I will not compile that"), "%s", k->error);
	cr_assert_eq(stats(f).compile_failures, 1);
	cache_get(f->cache, sum_nest(1), 0, 1);
	cr_assert_eq(k->state, KERNEL_FAILED, "the same source would fail again");
	unlink(path);
	stop(f);
}

/* The helper is the compiler's parent: the script kills it the first n times. */
Test(cache, a_helper_that_dies_is_replaced_and_the_job_tried_once_more)
{
	char path[64], text[512];
	struct fixture *f;
	struct kernel *k;

	snprintf(text, sizeof text,
		 "if [ ! -e %s/once ]; then : > %s/once; kill -9 $PPID; sleep 1; fi; exec gcc "
		 "\"$@\"",
		 folder, folder);
	script(path, text);
	f = start((struct cache_config){.tier = 1, .compiler = path});
	k = cache_get(f->cache, sum_nest(1), 0, 1);
	wait_ready(f, 1);
	cr_assert_eq(k->state, KERNEL_READY, "%s", k->error);
	cr_assert_eq(stats(f).helper_deaths, 1);
	unlink(path);
	stop(f);
}

static uint64_t open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint64_t n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Status pages subtract them: what is left must be other parts' alone. */
Test(cache, every_descriptor_of_kernels_and_helpers_is_in_the_statistics)
{
	struct fixture *f = start((struct cache_config){.tier = 1});
	uint64_t before = open_fds();

	for (unsigned n = 1; n <= 3; n++)
		cache_get(f->cache, sum_nest(n), 0, 1);
	cr_assert_eq(stats(f).helper_fds, 0, "what waits holds none");
	while (f->ready < 3) {
		cr_assert_eq(open_fds(), before + stats(f).codes + stats(f).helper_fds);
		uv_run(&f->loop, UV_RUN_ONCE);
	}
	cr_assert_eq(stats(f).codes, 3);
	cr_assert_eq(stats(f).helper_fds, 1, "the helper's socket");
	cr_assert_eq(open_fds(), before + 4);
	stop(f);
}

/* One of 400 different ones. */
static struct kernel *get_of_many(struct fixture *f, unsigned i)
{
	struct nest s = *sum_nest(i % 200 + 1);

	s.width = i < 200 ? 8 : 16;
	return cache_get(f->cache, &s, 0, 1);
}

/* Programs end sooner than what they asked for is compiled. */
Test(cache, what_nobody_waits_for_waits_up_to_a_bound_and_is_asked_for_again)
{
	struct fixture *f = start((struct cache_config){.tier = 1});
	uint64_t before = open_fds();
	struct kernel *k[400];
	unsigned waiting = 0;

	for (unsigned i = 0; i < 400; i++) {
		k[i] = get_of_many(f, i);
		waiting += k[i]->state == KERNEL_COMPILING;
	}
	cr_assert_eq(waiting, 256);
	cr_assert_eq(open_fds(), before);
	cr_assert_eq(k[399]->state, KERNEL_ABSENT);
	cr_assert_eq(cache_want(f->cache, k[398]), KERNEL_COMPILING, "somebody waits");
	wait_ready(f, 1);
	get_of_many(f, 399);
	cr_assert_eq(k[399]->state, KERNEL_ABSENT, "the other one took the place");
	wait_ready(f, 2);
	get_of_many(f, 399);
	cr_assert_eq(k[399]->state, KERNEL_COMPILING);
	stop(f);
}

Test(cache, a_job_that_kills_two_helpers_fails_and_the_next_one_works)
{
	char path[64], text[512];
	struct fixture *f;
	struct kernel *k, *next;

	/* Only sources with v2 = ... v1 + v0 kill. */
	snprintf(
		text, sizeof text,
		"cat > %s/source; if grep -q 'v2 = bz_add' %s/source; then kill -9 $PPID; sleep 1; "
		"fi; exec gcc \"$@\" < %s/source",
		folder, folder, folder);
	script(path, text);
	f = start((struct cache_config){.tier = 1, .compiler = path});
	k = cache_get(f->cache, sum_nest(2), 0, 1);
	next = cache_get(f->cache, sum_nest(1), 0, 1);
	wait_ready(f, 2);
	cr_assert_eq(k->state, KERNEL_FAILED);
	cr_assert_eq(next->state, KERNEL_READY, "%s", next->error);
	cr_assert_eq(stats(f).helper_deaths, 2);
	unlink(path);
	stop(f);
}

Test(cache, refused_code_is_forgotten_on_disk_too)
{
	struct cache_config c = {.tier = 1, .dir = folder};
	struct fixture *f = start(c);
	struct kernel *k = cache_get(f->cache, sum_nest(1), 0, 1);

	wait_ready(f, 1);
	wait_written(f, 1);
	cache_refuse(f->cache, k, "SIGILL");
	cr_assert_eq(k->state, KERNEL_FAILED);
	cr_assert_eq(k->code_fd, -1);
	stop(f);
	f = start(c);
	cache_get(f->cache, sum_nest(1), 0, 1);
	wait_ready(f, 1);
	cr_assert_eq(stats(f).disk_hits, 0);
	stop(f);
}

Test(cache, destroying_it_in_mid_compile_and_mid_read_leaves_nothing_behind)
{
	struct cache_config c = {.tier = 1, .dir = folder};
	struct fixture *f = start(c);

	cache_get(f->cache, sum_nest(1), 0, 1);
	stop(f);
	f = start(c);
	cache_get(f->cache, sum_nest(1), 0, 1);
	spin(f, 20);
	stop(f);
}

Test(cache, a_folder_open_to_others_is_an_error_at_the_start)
{
	struct cache_config c = {.tier = 1, .dir = folder, .self = "/proc/self/exe"};
	struct cache *cache = NULL;
	struct err err = {OK, ""};
	uv_loop_t loop;

	uv_loop_init(&loop);
	cr_assert_eq(chmod(folder, 0777), 0);
	cr_assert_eq(cache_create(&cache, &loop, &c, on_ready, NULL, &err), E_INVALID);
	cr_assert(strstr(err.text, folder));
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
}

Test(cache, the_source_of_a_kernel_can_be_shown)
{
	struct fixture *f = start((struct cache_config){.tier = 0});
	struct kernel *k = cache_get(f->cache, sum_nest(1), 0, 1);
	char *source = cache_source(k);

	cr_assert(strstr(source, "bz_map("));
	free(source);
	stop(f);
}

/* ---- GPUs --------------------------------------------------------------------------- */

static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};

static bool nvrtc(void)
{
	struct cuda_find found;

	if (cuda_find(&found, "BRAZE_NVRTC", nvrtc_names))
		return true;
	fprintf(stderr, "skipped: %s\n", found.text);
	return false;
}

Test(cache, a_gpus_kernel_is_another_one_and_is_compiled_when_it_is_wanted)
{
	struct fixture *f = start((struct cache_config){.dir = folder, .tier = -1});
	struct kernel *cpu = cache_get(f->cache, sum_nest(1), 0, 1);
	struct kernel *k = cache_get(f->cache, sum_nest(1), 90, 1);
	char head[4] = "", *source;

	cr_assert_neq(cpu, k);
	cr_assert_eq(cache_get(f->cache, sum_nest(1), 90, 1), k);
	cr_assert_neq(cache_get(f->cache, sum_nest(1), 80, 1), k);
	source = cache_source(k);
	cr_assert(strstr(source, "__global__"));
	free(source);
	if (!nvrtc()) {
		stop(f);
		return;
	}
	spin(f, 50);
	cr_assert_eq(f->ready, 0);
	cr_assert_eq(cache_want(f->cache, k), KERNEL_COMPILING);
	cr_assert_eq(cache_want(f->cache, k), KERNEL_COMPILING);
	wait_ready(f, 1);
	cr_assert_eq(k->state, KERNEL_READY, "%s", k->error);
	cr_assert_eq(pread(k->code_fd, head, 4, 0), 4);
	cr_assert_eq(memcmp(head, "\177ELF", 4), 0, "no cubin");
	cr_assert_gt(k->registers, 0);
	cr_assert_eq(k->spill_bytes, 0);
	cr_assert_eq(stats(f).compiles, 1);
	cr_assert_eq(cpu->state, KERNEL_ABSENT);
	wait_written(f, 1);
	stop(f);
	/* Another daemon finds it on disk, with what was known of it. */
	f = start((struct cache_config){.dir = folder, .tier = -1});
	k = cache_get(f->cache, sum_nest(1), 90, 1);
	cache_want(f->cache, k);
	wait_ready(f, 1);
	cr_assert_eq(k->from_disk, 1);
	cr_assert_gt(k->registers, 0);
	cr_assert_eq(stats(f).compiles, 0);
	stop(f);
}

static struct cuda_geometry geometry(unsigned entry, unsigned state, unsigned threads)
{
	return (struct cuda_geometry){.units = 4,
				      .entry = (uint8_t)entry,
				      .state = (uint8_t)state,
				      .model = {256, 0, 8},
				      .best = {(uint16_t)threads, 0, 8},
				      .model_ns = 100,
				      .best_ns = 90};
}

/* Several in a row, so that writes of the entry's file meet. */
Test(cache, what_trials_found_is_kept_on_disk_and_the_models_is_not)
{
	struct fixture *f;
	struct kernel *k;
	struct cuda_geometry g;

	if (!nvrtc())
		return;
	f = start((struct cache_config){.dir = folder, .tier = 0});
	k = cache_get(f->cache, sum_nest(1), 90, 1);
	cache_want(f->cache, k);
	wait_ready(f, 1);
	for (unsigned i = 0; i < CUDA_GEOMETRIES; i++) {
		g = geometry(i, GEOMETRY_MODEL, 256);
		cache_note_geometry(f->cache, k, &g);
	}
	for (unsigned threads = 32; threads <= 128; threads *= 2) {
		g = geometry(1, GEOMETRY_TUNED, threads);
		cache_note_geometry(f->cache, k, &g);
	}
	/* One too many takes the place of one that was not tried. */
	g = geometry(CUDA_GEOMETRIES, GEOMETRY_KEPT, 64);
	cache_note_geometry(f->cache, k, &g);
	cr_assert_eq(k->ngeometry, CUDA_GEOMETRIES);
	/* Nonsense does not. */
	g = geometry(ENTRY_END, GEOMETRY_TUNED, 64);
	cache_note_geometry(f->cache, k, &g);
	g = geometry(0, GEOMETRY_END, 64);
	cache_note_geometry(f->cache, k, &g);
	g = geometry(0, GEOMETRY_TUNED, 0);
	cache_note_geometry(f->cache, k, &g);
	cr_assert_eq(k->geometry[0].state, GEOMETRY_MODEL);
	wait_written(f, 2);
	spin(f, 200); /* one more may be under way */
	stop(f);
	f = start((struct cache_config){.dir = folder, .tier = 0});
	k = cache_get(f->cache, sum_nest(1), 90, 1);
	cache_want(f->cache, k);
	wait_ready(f, 1);
	cr_assert_eq(k->from_disk, 1);
	cr_assert_eq(k->ngeometry, 2);
	cr_assert_eq(k->geometry[0].best.threads, 128, "the last one counts");
	cr_assert_eq(k->geometry[1].entry, CUDA_GEOMETRIES);
	cr_assert_eq(stats(f).compiles, 0);
	stop(f);
}

Test(cache, a_gpu_newer_than_nvrtc_gets_ptx_and_a_product_is_a_kernel_too)
{
	struct plan_call call = product_step(&(struct product){.dtype = DT_FLOAT32});
	struct fixture *f;
	struct kernel *k;
	char head[64] = "";

	if (!nvrtc())
		return;
	f = start((struct cache_config){.tier = 0});
	k = cache_get(f->cache, sum_nest(2), 990, 1);
	cr_assert_eq(cache_want(f->cache, k), KERNEL_COMPILING);
	wait_ready(f, 1);
	cr_assert_eq(k->state, KERNEL_READY, "%s", k->error);
	cr_assert_gt(pread(k->code_fd, head, 63, 0), 0);
	cr_assert_eq(head[0], '/', "no PTX: %s", head);
	k = cache_get_call(f->cache, &call, 90, 1);
	cr_assert_eq(cache_get_call(f->cache, &call, 90, 1), k);
	cr_assert_eq(cache_want(f->cache, k), KERNEL_COMPILING);
	wait_ready(f, 2);
	cr_assert_eq(k->state, KERNEL_READY, "%s", k->error);
	cr_assert_eq(k->spill_bytes, 0);
	stop(f);
}

Test(cache, a_product_of_the_processor_is_a_kernel_of_its_shape_without_code)
{
	struct fixture *f = start((struct cache_config){.dir = folder, .tier = 1});
	struct plan_call p =
		product_step(&(struct product){.dtype = DT_FLOAT64, .m = 3, .n = 4, .k = 5});
	struct kernel *k = cache_get_call(f->cache, &p, 0, 1), *other;

	cr_assert_eq(cache_get_call(f->cache, &p, 0, 1), k);
	cr_assert_eq(k->call.call, CALL_PRODUCT);
	cr_assert_eq(k->call.dtype, DT_FLOAT64);
	cr_assert_eq(k->state, KERNEL_ABSENT, "it is looked for on disk, or compiled");
	cache_note_run(f->cache, k, 1 << 30, 1 << 30);
	cr_assert_eq(k->state, KERNEL_ABSENT);
	p.extent[2] = 6;
	other = cache_get_call(f->cache, &p, 0, 1);
	cr_assert_neq(other, k);
	cache_blame(f->cache, k, "it");
	cache_blame(f->cache, k, "did");
	cr_assert_eq(k->strikes, KERNEL_STRIKES);
	cr_assert_eq(other->strikes, 0);
	p.operand[1].stride[1] = 16;
	cr_assert_neq(cache_get_call(f->cache, &p, 0, 1), other);
	stop(f);
}

Test(cache, without_nvrtc_a_gpus_kernel_fails_and_tells_why)
{
	struct fixture *f;
	struct kernel *k;

	setenv("BRAZE_NVRTC", "/no/such/libnvrtc.so", 1);
	f = start((struct cache_config){.dir = folder, .tier = 1});
	k = cache_get(f->cache, sum_nest(1), 90, 1);
	cr_assert_eq(cache_want(f->cache, k), KERNEL_FAILED);
	cr_assert(strstr(k->error, "NVRTC"), "%s", k->error);
	cr_assert(strstr(k->error, "/no/such/libnvrtc.so"), "%s", k->error);
	stop(f);
}

/* A library that dies when it is called costs its kernel, after a second try. */
Test(cache, a_crash_of_nvrtc_costs_one_kernel)
{
	char path[128], command[512];
	struct fixture *f;
	struct kernel *k;

	snprintf(path, sizeof path, "%s/libnvrtc-broken.so", folder);
	snprintf(command, sizeof command,
		 "printf '#define F(n) int nvrtc##n(void) { __builtin_trap(); }\\n"
		 "F(Version) F(CreateProgram) F(CompileProgram) F(DestroyProgram) F(GetPTX)\\n"
		 "F(GetProgramLogSize) F(GetProgramLog) F(GetPTXSize) F(GetErrorString)' | "
		 "gcc -shared -fPIC -x c - -o %s",
		 path);
	cr_assert_eq(system(command), 0);
	setenv("BRAZE_NVRTC", path, 1);
	f = start((struct cache_config){.tier = 1});
	k = cache_get(f->cache, sum_nest(1), 90, 1);
	cr_assert_eq(cache_want(f->cache, k), KERNEL_COMPILING);
	wait_ready(f, 1);
	cr_assert_eq(k->state, KERNEL_FAILED);
	k = cache_get(f->cache, sum_nest(1), 0, 1); /* the other compiler goes on */
	cache_want(f->cache, k);
	wait_ready(f, 2);
	cr_assert_eq(k->state, KERNEL_READY, "%s", k->error);
	stop(f);
}
