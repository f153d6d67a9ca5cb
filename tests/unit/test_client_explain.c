/* SPDX-License-Identifier: Apache-2.0 */
/* How a value was made: what the client says of it, and when it asks the daemon. */
#include "fake_daemon.h"

#include "client.h"

#define GRID	"float64 array of shape (200, 200)"
#define FAR	"far: left to the daemon, since "
#define LARGE	FAR "its work or its result is more than one call may take"
#define OPERAND FAR "an operand was not at hand in this process"
#define OURS	"data of this process, in memory that it shares with the daemon"
#define WAITED	"it was pending until now"
#define SCRIPT	"  as the script says"

static void explained(braze_array *a, const char *const *lines)
{
	char *text = NULL, want[1024] = "";
	braze_error e = {0};

	for (; *lines; lines++) {
		strcat(want, *lines);
		strcat(want, "\n");
	}
	cr_assert_eq(braze_explain(&text, a, NULL, NULL, &e), 0, "%s", e.text);
	cr_assert_str_eq(text, want);
	free(text);
}
#define EXPLAINED(a, ...) explained(a, (const char *[]){__VA_ARGS__, NULL})

static braze_array *small(braze_session *s)
{
	const double x[3] = {1, 4, 9};
	const int64_t shape[1] = {3};
	braze_array *a = NULL;

	cr_assert_eq(braze_from_data(&a, s, BRAZE_FLOAT64, 1, shape, NULL, x, NULL), 0);
	return a;
}

static struct fake *start(void)
{
	struct fake *f = fake_start_near();

	f->minor = MINOR_TELLS;
	return f;
}

static void end(struct fake *f, braze_session *s)
{
	braze_close(s);
	fake_stop(f);
}

Test(client_explain, what_is_near_is_asked_of_nobody)
{
	struct fake *f = start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = small(s), *b = fake_op("sqrt", a, NULL);

	EXPLAINED(b, "float64 array of shape (3,)",
		  "near: made in this process, in the call itself");
	cr_assert_not(fake_saw(f, "EXPLAIN"));
	braze_release(a);
	braze_release(b);
	end(f, s);
}

Test(client_explain, what_is_large_is_waited_for_and_explained)
{
	struct fake *f = start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = small(s), *b = fake_op("sqrt", a, NULL), *c = fake_large(s);
	braze_array *d = fake_op("sqrt", c, NULL);

	EXPLAINED(c, GRID, LARGE, WAITED, SCRIPT);
	cr_assert(fake_saw(f, "DEMAND 3"));
	cr_assert(fake_saw(f, "EXPLAIN 3\n"));
	cr_assert_eq(f->told_near, 1, "the root");
	EXPLAINED(d, GRID, OPERAND, WAITED, SCRIPT);
	EXPLAINED(d, GRID, OPERAND, SCRIPT);
	braze_release(a);
	braze_release(b);
	braze_release(c);
	braze_release(d);
	end(f, s);
}

Test(client_explain, a_view_is_explained_by_its_buffer)
{
	const int64_t shape[1] = {2}, stride[1] = {16};
	struct fake *f = start();
	braze_session *s = fake_connect(f, 0);
	braze_array *c = fake_large(s), *v = NULL;

	cr_assert_eq(braze_view(&v, c, BRAZE_FLOAT64, 1, shape, stride, 8, NULL), 0);
	EXPLAINED(v, "float64 array of shape (2,), a view of 320000 bytes", LARGE, WAITED, SCRIPT);
	braze_release(c);
	braze_release(v);
	end(f, s);
}

Test(client_explain, what_the_program_writes_is_its_own)
{
	const int64_t shape[2] = {FAKE_ROWS, FAKE_ROWS};
	struct fake *f = start();
	braze_session *s = fake_connect(f, 0);
	braze_array *a = NULL, *c = fake_large(s), *d;
	void *at = NULL;

	cr_assert_eq(braze_alloc(&a, &at, s, BRAZE_FLOAT64, 2, shape, NULL), 0);
	EXPLAINED(a, GRID, OURS);
	cr_assert_eq(braze_fence(&at, c, NULL, NULL, NULL), 0);
	EXPLAINED(c, GRID, OURS);
	d = fake_op("sqrt", c, NULL);
	EXPLAINED(c, GRID, OURS);
	cr_assert_not(fake_saw(f, "EXPLAIN"));
	braze_release(a);
	braze_release(c);
	braze_release(d);
	end(f, s);
}

Test(client_explain, each_switch_is_named)
{
	const struct {
		unsigned flags;
		const char *near, *device, *why;
	} row[] = {
		{0, "0", NULL, "BRAZE_NEAR=0 is set"},
		{BRAZE_UNFUSED, NULL, NULL,
		 "the session is eager, unfused or watches floating-point errors"},
		{0, NULL, "cuda:0", "the session names a device"},
		{0, "loops", NULL, "the daemon computes with other loops than this process has"},
	};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct fake *f = start();
		char line[128];

		f->near = !row[i].near || strcmp(row[i].near, "loops");
		if (row[i].near)
			setenv("BRAZE_NEAR", row[i].near, 1);
		if (row[i].device)
			setenv("BRAZE_DEVICE", row[i].device, 1);
		braze_session *s = fake_connect(f, row[i].flags);
		unsetenv("BRAZE_NEAR");
		unsetenv("BRAZE_DEVICE");
		braze_array *a = fake_large(s);
		snprintf(line, sizeof line, FAR "%s", row[i].why);
		EXPLAINED(a, GRID, line, WAITED, SCRIPT);
		braze_release(a);
		end(f, s);
	}
}

Test(client_explain, an_older_daemon_is_not_asked)
{
	struct fake *f = start();

	f->minor = MINOR_TELLS - 1;
	braze_session *s = fake_connect(f, 0);
	braze_array *a = small(s), *c = fake_large(s);

	EXPLAINED(c, GRID, LARGE, WAITED);
	cr_assert_not(fake_saw(f, "EXPLAIN"));
	cr_assert_eq(f->told_near, 0);
	braze_release(a);
	braze_release(c);
	end(f, s);
}

Test(client_explain, what_fails_gives_its_error)
{
	struct fake *f = start();
	braze_session *s = fake_connect(f, 0);
	braze_array *c = fake_large(s);
	braze_error e = {0};
	char *text = (char *)"x";

	f->fail = E_LOST;
	cr_assert_eq(braze_explain(&text, c, NULL, NULL, &e), E_LOST);
	cr_assert_null(text);
	cr_assert(strstr(e.text, "as the script says"));
	braze_release(c);
	end(f, s);
}
