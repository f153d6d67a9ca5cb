/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/ctl_fake.h - a status socket with known content, on its own loop
 * thread, for the tests of ctl/ and of brazectl. */
#ifndef BRAZE_CTL_FAKE_H
#define BRAZE_CTL_FAKE_H

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "ctl/ctl.h"

struct fake {
	uv_loop_t loop;
	uv_async_t stop;
	pthread_t thread;
	struct ctl *ctl;
	char folder[64], path[96];
	int kernels;	  /* rows of /kernels */
	size_t key_bytes; /* of each row's key */
	int stall_ms;	  /* the loop sleeps this long in a snapshot */
	int cleared, ended, orders;
	char binary[64];	/* that was to go on */
	struct ctl_order order; /* the last */
};

static inline void fake_kernel(const struct fake *f, uint32_t id, cJSON *row)
{
	char *key = calloc(1, f->key_bytes + 1);

	memset(key, 'k', f->key_bytes);
	cJSON_AddNumberToObject(row, "id", id);
	cJSON_AddStringToObject(row, "state", "ready");
	cJSON_AddNumberToObject(row, "tier", 1);
	cJSON_AddNumberToObject(row, "runs", 12);
	cJSON_AddNumberToObject(row, "elements", 1000);
	cJSON_AddNumberToObject(row, "busy_seconds", 0.25);
	cJSON_AddNumberToObject(row, "compile_seconds", 0.05);
	cJSON_AddFalseToObject(row, "from_disk");
	cJSON_AddNumberToObject(row, "origin_session", 3);
	cJSON_AddStringToObject(row, "operations", "sin, add");
	cJSON_AddStringToObject(row, "origin", "heat.py /home/ada/heat.py:12");
	cJSON_AddStringToObject(row, "key", key);
	free(key);
}

static inline void fake_clients(cJSON *out)
{
	static const char *const numbers[] = {"arrays",
					      "bytes",
					      "pending",
					      "ops",
					      "demands",
					      "device_seconds",
					      "queue_wait_seconds",
					      "plan_hits",
					      "plan_misses",
					      "fusion_refusals"};
	cJSON *row = cJSON_CreateObject();

	cJSON_AddNumberToObject(row, "session", 3);
	cJSON_AddNumberToObject(row, "pid", 4242);
	cJSON_AddNumberToObject(row, "uid", 1000);
	cJSON_AddStringToObject(row, "name", "note\x1b[31mbook");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		cJSON_AddNumberToObject(row, numbers[i], (double)i + 1);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(out, "clients"), row);
}

static inline void fake_snapshot(void *data, enum ctl_page page, uint32_t id, cJSON *out)
{
	struct fake *f = data;

	usleep((useconds_t)f->stall_ms * 1000);
	if (page == CTL_STATUS) {
		cJSON_AddStringToObject(out, "version", "0.1.0");
		cJSON_AddNumberToObject(out, "pid", getpid());
		cJSON_AddNumberToObject(out, "worker_pid", getpid());
		cJSON_AddStringToObject(out, "cache_dir", "/tmp");
		cJSON_AddStringToObject(out, "compiler", "cc");
#define STAT(metric, type, labels, path, help) ctl_put(out, path, 7);
#include "ctl/stats.def"
#undef STAT
	} else if (page == CTL_CLIENTS) {
		fake_clients(out);
	} else if (page == CTL_KERNELS) {
		cJSON *list = cJSON_AddArrayToObject(out, "kernels");

		for (int i = 0; i < f->kernels; i++) {
			cJSON *row = cJSON_CreateObject();

			fake_kernel(f, (uint32_t)i + 1, row);
			cJSON_AddItemToArray(list, row);
		}
	} else if (page == CTL_KERNEL && id == 1) {
		const char *reason = "sum stays apart: another shape";

		fake_kernel(f, id, out);
		cJSON_AddStringToObject(out, "source", "void kernel(void) { }\n");
		cJSON_AddItemToObject(out, "reasons", cJSON_CreateStringArray(&reason, 1));
	}
}

/* There is session 7. */
static inline enum status fake_order(void *data, const struct ctl_order *o, cJSON *out,
				     struct err *err)
{
	struct fake *f = data;

	f->order = *o;
	f->orders++;
	if (o->act == CTL_LIMIT || o->act == CTL_CLEAR_CACHE) {
		f->cleared += o->act == CTL_CLEAR_CACHE;
		cJSON_AddTrueToObject(out, "cleared");
		return OK;
	}
	if (o->act == CTL_DRAIN) {
		if (*o->binary && *o->binary != '/')
			return err_set(err, E_INVALID, "%s is no program", o->binary);
		snprintf(f->binary, sizeof(f->binary), "%.60s",
			 *o->binary ? o->binary : "installed");
		return OK;
	}
	if (o->id != 7)
		return err_set(err, E_INVALID, "no session has the number %u", o->id);
	f->ended += o->act == CTL_END;
	cJSON_AddTrueToObject(out, "ended");
	return OK;
}

static inline void fake_on_stop(uv_async_t *a)
{
	struct fake *f = a->data;

	ctl_destroy(f->ctl);
	uv_close((uv_handle_t *)a, NULL);
}

static inline void *fake_thread(void *data)
{
	struct fake *f = data;

	uv_run(&f->loop, UV_RUN_DEFAULT);
	return NULL;
}

static inline void fake_start(struct fake *f)
{
	struct ctl_source source = {f, fake_snapshot, fake_order};
	struct err err = {0};

	strcpy(f->folder, "/tmp/braze-ctl-XXXXXX");
	cr_assert(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/s.status.sock", f->folder);
	cr_assert_eq(uv_loop_init(&f->loop), 0);
	cr_assert_eq(uv_async_init(&f->loop, &f->stop, fake_on_stop), 0);
	f->stop.data = f;
	if (!f->key_bytes)
		f->key_bytes = 20;
	cr_assert_eq(ctl_create(&f->ctl, &f->loop, f->path, &source, &err), OK, "%s", err.text);
	ctl_note(f->ctl, "worker", "started pid %d", 77);
	cr_assert_eq(pthread_create(&f->thread, NULL, fake_thread, f), 0);
}

static inline void fake_stop(struct fake *f)
{
	uv_async_send(&f->stop);
	pthread_join(f->thread, NULL);
	cr_assert_eq(uv_loop_close(&f->loop), 0, "a handle was left open");
	cr_assert_neq(access(f->path, F_OK), 0, "the socket file was left");
	cr_assert_eq(rmdir(f->folder), 0);
}

#endif
