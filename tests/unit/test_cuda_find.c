/* SPDX-License-Identifier: Apache-2.0 */
/* base/cuda_find.c: the places where a library is looked for, in their order. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cuda_find.h"

static char folder[64], text[256];
static const char *const names[] = {"libbrazetest.so.2", "libbrazetest.so.1", NULL};

static void touch(const char *path)
{
	FILE *f;

	snprintf(text, sizeof text, "mkdir -p $(dirname %s/%s)", folder, path);
	cr_assert_eq(system(text), 0);
	snprintf(text, sizeof text, "%s/%s", folder, path);
	f = fopen(text, "w");
	cr_assert(f);
	fclose(f);
}

static void setup(void)
{
	strcpy(folder, "/tmp/braze-test-XXXXXX");
	cr_assert(mkdtemp(folder));
	unsetenv("BRAZE_TESTLIB");
	setenv("BRAZE_CUDA_PATHS", folder, 1);
	setenv("CUDA_HOME", "", 1);
	setenv("CUDA_PATH", "", 1);
}

static void remove_all(void)
{
	snprintf(text, sizeof text, "rm -r %s", folder);
	cr_assert_eq(system(text), 0);
}

TestSuite(cuda_find, .init = setup, .fini = remove_all);

Test(cuda_find, the_better_name_wins_within_a_folder)
{
	struct cuda_find f;

	touch("lib64/libbrazetest.so.1");
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", names));
	cr_assert(strstr(f.path, "lib64/libbrazetest.so.1"), "%s", f.path);
	touch("lib64/libbrazetest.so.2");
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", names));
	cr_assert(strstr(f.path, "lib64/libbrazetest.so.2"), "%s", f.path);
	cr_assert(strstr(f.text, "found /tmp/"), "%s", f.text);
}

Test(cuda_find, packages_of_python_are_looked_into)
{
	struct cuda_find f;

	touch("nvidia/cu13/lib/libbrazetest.so.2");
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", names));
	cr_assert(strstr(f.path, "nvidia/cu13/lib/libbrazetest.so.2"), "%s", f.path);
}

Test(cuda_find, a_file_that_is_named_is_the_only_one_asked)
{
	struct cuda_find f;

	touch("lib64/libbrazetest.so.2");
	setenv("BRAZE_TESTLIB", "/no/such/file.so", 1);
	cr_assert_not(cuda_find(&f, "BRAZE_TESTLIB", names));
	cr_assert_str_eq(f.path, "");
	cr_assert(strstr(f.text, "BRAZE_TESTLIB=/no/such/file.so is no readable file"), "%s",
		  f.text);
	snprintf(text, sizeof text, "%s/lib64/libbrazetest.so.2", folder);
	setenv("BRAZE_TESTLIB", text, 1);
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", names));
	cr_assert_str_eq(f.path, text);
}

Test(cuda_find, what_is_nowhere_is_told_with_the_places_and_what_to_do)
{
	struct cuda_find f;

	setenv("CUDA_HOME", "relative/folder", 1);
	cr_assert_not(cuda_find(&f, "BRAZE_TESTLIB", names));
	cr_assert_str_eq(f.path, "");
	cr_assert(strstr(f.text, folder), "%s", f.text);
	cr_assert(strstr(f.text, "BRAZE_TESTLIB"), "%s", f.text);
	cr_assert_not(strstr(f.text, "relative"), "%s", f.text);
}

/* Each library of the table of places, where wheels and conda put it. */
Test(cuda_find, wheels_and_conda)
{
	static const char *const places[] = {"nvidia/cublas/lib", "nvidia/cuda_nvrtc/lib",
					     "targets/sbsa-linux/lib"};
	struct cuda_find f;

	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		char path[128];

		snprintf(path, sizeof path, "%s/libbrazetest.so.2", places[i]);
		touch(path);
		cr_assert(cuda_find(&f, "BRAZE_TESTLIB", names));
		cr_assert(strstr(f.path, path), "%s", f.path);
		remove_all();
	}
	touch("lib/libbrazetest.so.2");
	setenv("BRAZE_CUDA_PATHS", "", 1);
	setenv("CONDA_PREFIX", folder, 1);
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", names), "%s", f.text);
}

Test(cuda_find, what_is_newer_than_the_driver_is_passed_over)
{
	struct cuda_find f;
	char link[128], target[128];

	touch("lib64/libbrazetest.so.2");
	touch("nvidia/cublas/lib/libbrazetest.so.1");
	cuda_find_driver(1080);
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", names));
	cr_assert(strstr(f.path, "nvidia/cublas/lib/libbrazetest.so.1"), "%s", f.path);
	cuda_find_driver(2000);
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", names));
	cr_assert(strstr(f.path, "lib64/libbrazetest.so.2"), "%s", f.path);
	/* A name without a number is what it leads to. */
	cuda_find_driver(1080);
	snprintf(link, sizeof link, "%s/lib64/libbrazeother.so", folder);
	snprintf(target, sizeof target, "%s/lib64/libbrazetest.so.2", folder);
	cr_assert_eq(symlink(target, link), 0);
	cr_assert_not(
		cuda_find(&f, "BRAZE_TESTLIB", (const char *const[]){"libbrazeother.so", NULL}));
	cr_assert(strstr(f.text, "later CUDA than the driver"), "%s", f.text);
	cuda_find_driver(0);
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", (const char *const[]){"libbrazeother.so", NULL}));
}

/* libcufft.so.11 is CUDA 12's: its number is one behind, as cuSOLVER's is. */
Test(cuda_find, numbers_of_their_own)
{
	static const char *const fft[] = {"libcufft.so.12", "libcufft.so.11", NULL};
	struct cuda_find f;

	touch("lib64/libcufft.so.12");
	touch("nvidia/cufft/lib/libcufft.so.11");
	cuda_find_driver(12040);
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", fft));
	cr_assert(strstr(f.path, "nvidia/cufft/lib/libcufft.so.11"), "%s", f.path);
	cuda_find_driver(13000);
	cr_assert(cuda_find(&f, "BRAZE_TESTLIB", fft));
	cr_assert(strstr(f.path, "lib64/libcufft.so.12"), "%s", f.path);
	cuda_find_driver(11080);
	cr_assert_not(cuda_find(&f, "BRAZE_TESTLIB", fft));
	cr_assert(strstr(f.text, "later CUDA than the driver"), "%s", f.text);
	cuda_find_driver(0);
}
