/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_helper.c - a thread that does slow driver calls one after the other, so
 * that neither the command thread nor a client's runs wait for them. */
#include <string.h>

#include "cuda_worker.h"

static void *helper_main(void *arg)
{
	struct cuda_helper *h = arg;

	cuda_context_expect(h->c, h->c->api.cuCtxSetCurrent(h->c->context), "a helper's context");
	for (;;) {
		struct cuda_task *task = NULL;

		pthread_mutex_lock(&h->lock);
		while (!h->head && !h->stop)
			pthread_cond_wait(&h->more, &h->lock);
		task = h->head;
		if (task) {
			h->head = task->next;
			if (!h->head)
				h->tail = &h->head;
		}
		pthread_mutex_unlock(&h->lock);
		if (!task)
			return NULL;
		task->run(task);
	}
}

enum status cuda_helper_start(struct cuda_helper *h, struct cuda *c, struct err *err)
{
	int rc = 0;

	h->c = c;
	h->tail = &h->head;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->more, NULL);
	rc = pthread_create(&h->thread, NULL, helper_main, h);
	if (rc)
		return err_set(err, E_SYSTEM, "a helper thread cannot start: %s", strerror(rc));
	h->started = true;
	return OK;
}

void cuda_helper_give(struct cuda_helper *h, struct cuda_task *task)
{
	task->next = NULL;
	pthread_mutex_lock(&h->lock);
	*h->tail = task;
	h->tail = &task->next;
	pthread_cond_signal(&h->more);
	pthread_mutex_unlock(&h->lock);
}

void cuda_helper_finish(struct cuda_helper *h)
{
	if (!h->started)
		return;
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_cond_signal(&h->more);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	h->started = false;
}
