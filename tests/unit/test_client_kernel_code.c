/* SPDX-License-Identifier: Apache-2.0 */
/* Code for kernels of text, from daemons that have none, lie, are silent, old, or end: the kernel
 * is interpreted then, and who asked is told why.  With a daemon that compiles: test_kernel.py. */
#include "fake_daemon.h"

#include <dirent.h>

#include "client.h"

#define TEXT "kernel twice(inout x: float64[:]) { for i in 0..len(x) { x[i] *= 2 } }"

struct scene {
	struct fake *f;
	braze_session *s;
	braze_kernel *k;
};

static struct scene scene(enum fake_object object, int minor)
{
	struct scene t = {.f = fake_start()};
	braze_error err = {0};

	t.f->minor = minor;
	t.f->object = (int)object;
	t.s = fake_connect(t.f, 0);
	cr_assert(!braze_kernel_create(&t.k, TEXT, strlen(TEXT), &err), "%s", err.text);
	return t;
}

static void end(struct scene t)
{
	braze_kernel_free(t.k);
	braze_close(t.s);
	fake_stop(t.f);
}

/* It computes all the same. */
static void runs(braze_kernel *k)
{
	const int64_t shape = 2, stride = 8;
	double x[2] = {1.5, -3};
	braze_kernel_arg a = {
		.data = x, .dtype = BRAZE_FLOAT64, .ndim = 1, .shape = &shape, .strides = &stride};
	braze_error err = {0};

	cr_assert(!braze_kernel_call(NULL, k, 1, &a, NULL, NULL, &err), "%s", err.text);
	cr_assert(x[0] == 3 && x[1] == -6);
	cr_assert_not(braze_kernel_compiled(k));
}

static void refused(struct scene t, int code, const char *words)
{
	braze_error err = {0};

	cr_assert_eq(braze_kernel_code(t.k, t.s, 1, NULL, NULL, &err), code, "%d: %s", err.code,
		     err.text);
	cr_assert(strstr(err.text, words), "%s", err.text);
	runs(t.k);
}

static unsigned descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

Test(client_kernel_code, the_daemons_reason_is_told_and_kept)
{
	struct scene t = scene(OBJECT_NONE, MINOR_CODE);

	refused(t, BRAZE_E_UNSUPPORTED, "as the script says");
	cr_assert(fake_saw(t.f, "COMPILE " TEXT));
	t.f->object = OBJECT_SILENT; /* it is not asked again: that would never end */
	refused(t, BRAZE_E_UNSUPPORTED, "as the script says");
	end(t);
}

Test(client_kernel_code, an_answer_without_an_object_is_told)
{
	struct scene t = scene(OBJECT_LOST, MINOR_CODE);
	braze_error err = {0};
	int rc = braze_kernel_code(t.k, t.s, 1, NULL, NULL, &err);

	cr_assert(rc && rc != BRAZE_E_TIMEOUT, "%d: %s", rc, err.text);
	runs(t.k);
	end(t);
}

Test(client_kernel_code, what_is_no_kernel_is_not_run_and_leaves_no_descriptor)
{
	for (int object = OBJECT_JUNK; object <= OBJECT_OTHER; object++) {
		struct scene t = scene((enum fake_object)object, MINOR_CODE);
		unsigned before = descriptors();

		refused(t, BRAZE_E_COMPILE, "does not load");
		/* The daemon is a thread here, and closes its own when it has answered. */
		for (int k = 0; k < 1000 && descriptors() != before; k++)
			usleep(1000);
		cr_assert_eq(descriptors(), before);
		end(t);
	}
}

Test(client_kernel_code, daemons_of_before_are_not_asked)
{
	struct scene t = scene(OBJECT_JUNK, MINOR_CODE - 1);

	refused(t, BRAZE_E_UNSUPPORTED, "too old");
	cr_assert_not(fake_saw(t.f, "COMPILE"));
	end(t);
}

Test(client_kernel_code, the_environment_switches_it_off)
{
	struct scene t = scene(OBJECT_JUNK, MINOR_CODE);

	setenv("BRAZE_KERNEL_CODE", "0", 1);
	refused(t, BRAZE_E_UNSUPPORTED, "BRAZE_KERNEL_CODE=0");
	cr_assert_not(fake_saw(t.f, "COMPILE"));
	unsetenv("BRAZE_KERNEL_CODE");
	end(t);
}

static int now(void *data)
{
	(void)data;
	return 1;
}

Test(client_kernel_code, a_wait_can_be_stopped_and_none_is_none)
{
	struct scene t = scene(OBJECT_SILENT, MINOR_CODE);
	braze_error err = {0};

	cr_assert_eq(braze_kernel_code(t.k, t.s, 0, NULL, NULL, &err), BRAZE_E_TIMEOUT, "%s",
		     err.text);
	cr_assert_eq(braze_kernel_code(t.k, t.s, 1, now, NULL, &err), BRAZE_E_INTERRUPTED);
	runs(t.k);
	end(t); /* with the question open */
}

Test(client_kernel_code, the_daemon_ends_meanwhile)
{
	struct scene t = scene(OBJECT_SILENT, MINOR_CODE);
	braze_error err = {0};

	cr_assert_eq(braze_kernel_code(t.k, t.s, 0, NULL, NULL, &err), BRAZE_E_TIMEOUT);
	shutdown(t.f->fd, SHUT_RDWR);
	cr_assert_eq(braze_kernel_code(t.k, t.s, 1, NULL, NULL, &err), BRAZE_E_DAEMON_GONE, "%s",
		     err.text);
	runs(t.k);
	end(t);
}
