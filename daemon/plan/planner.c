/* SPDX-License-Identifier: Apache-2.0 */
#include "planner.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "../base/xalloc.h"
#include "../nest/compilepart.h"
#include "../nest/spare.h"

struct queue {
	struct planner_job *first, **last;
};

struct planner {
	struct planner_config config;
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t work;
	struct queue todo, ready;
	bool stop;
	uv_async_t *wake; /* freed by its close callback */
};

static void push(struct queue *q, struct planner_job *j)
{
	j->next = NULL;
	if (!q->first)
		q->last = &q->first;
	*q->last = j;
	q->last = &j->next;
}

static struct planner_job *pop(struct queue *q)
{
	struct planner_job *j = q->first;

	if (j)
		q->first = j->next;
	return j;
}

static bool dumps(const struct planner *p, const char *stage)
{
	return p->config.dump && strstr(p->config.dump, stage);
}

static void dump_pass(void *data, const char *pass, const char *text)
{
	const struct planner *p = data;

	if (dumps(p, "nest"))
		fprintf(stderr, "-- nests after %s\n%s", pass, text);
}

static void print_part(const struct part *part)
{
	size_t n = part_print(NULL, 0, part);
	char *text = xmalloc(n + 1);

	part_print(text, n + 1, part);
	fprintf(stderr, "-- partition\n%s", text);
	free(text);
}

static void print_plan(const struct plan *plan)
{
	size_t n = plan_print(NULL, 0, plan);
	char *text = xmalloc(n + 1);

	plan_print(text, n + 1, plan);
	fprintf(stderr, "-- plan\n%s", text);
	free(text);
}

static void check_only(void *data, const char *pass, const char *text)
{
	(void)data;
	(void)pass;
	(void)text;
}

static void plan_one(struct planner *p, struct planner_job *j)
{
	uint64_t start = j->began_ns = uv_hrtime();
	pass_dump_fn *each = dumps(p, "nest") ? dump_pass : p->config.check ? check_only : NULL;

	if (dumps(p, "part"))
		print_part(j->part);
	if (compilepart_run(&j->plan, j->part, p->config.passes, each, p, &j->err))
		j->plan = NULL;
	j->ended_ns = uv_hrtime();
	if (j->plan)
		j->plan->planning_us = (j->ended_ns - start) / 1000;
	if (j->plan && dumps(p, "plan"))
		print_plan(j->plan);
}

static void *planner_main(void *arg)
{
	struct planner *p = arg;

	spare_fill(SPARE_READY);
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct planner_job *j = pop(&p->todo);

		if (!j) {
			pthread_cond_wait(&p->work, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		plan_one(p, j);
		pthread_mutex_lock(&p->lock);
		push(&p->ready, j);
		uv_async_send(p->wake);
	}
	pthread_mutex_unlock(&p->lock);
	spare_free();
	return NULL;
}

static void on_wake(uv_async_t *a)
{
	struct planner *p = a->data;
	struct planner_job *j;

	for (;;) {
		pthread_mutex_lock(&p->lock);
		j = pop(&p->ready);
		pthread_mutex_unlock(&p->lock);
		if (!j)
			return;
		j->done(j);
	}
}

enum status planner_create(struct planner **out, uv_loop_t *loop,
			   const struct planner_config *config, struct err *err)
{
	struct planner *p = xcalloc(1, sizeof *p);
	sigset_t all, old;
	int rc;

	if (config->passes && compilepart_names(config->passes, err)) {
		free(p);
		return E_INVALID;
	}
	p->config = *config;
	p->wake = xcalloc(1, sizeof *p->wake);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	uv_async_init(loop, p->wake, on_wake);
	p->wake->data = p;
	/* Signals are the loop's, but for a fault's own: blocked, it could not be told. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&p->thread, NULL, planner_main, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		uv_close((uv_handle_t *)p->wake, (uv_close_cb)free);
		free(p);
		return err_set(err, E_SYSTEM, "cannot start the planner thread: %s", strerror(rc));
	}
	*out = p;
	return OK;
}

void planner_destroy(struct planner *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	spare_free(); /* of planner_run */
	p->wake->data = NULL;
	uv_close((uv_handle_t *)p->wake, (uv_close_cb)free);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->work);
	free(p);
}

void planner_run(struct planner *p, struct planner_job *job)
{
	plan_one(p, job);
	job->done(job);
}

void planner_submit(struct planner *p, struct planner_job *job)
{
	job->plan = NULL;
	pthread_mutex_lock(&p->lock);
	push(&p->todo, job);
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}
