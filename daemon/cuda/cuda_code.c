/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_code.c - kernels by id, and the code they are run by.
 *
 * In: CMD_KERNEL's nest, CMD_CODE's cubin (or PTX).  Out: DONE_CODE, and functions by
 * the names of cuda_abi.h.  The helper loads, since the first load of a module may
 * wait for the device; runs that name the kernel meanwhile wait in their issuer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_facts.h"
#include "cuda_worker.h"
#include "worker/kernels.h"

#define CODE_BYTES_MAX (64ull << 20)

static struct cuda_kernel *kernel_create(struct cuda *c, uint32_t id, struct nest *spec)
{
	struct cuda_kernel *k = xcalloc(1, sizeof *k);

	k->c = c;
	k->id = id;
	k->refs = 1;
	k->spec = spec;
	k->checks = spec ? nest_checks(spec) : 0;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->loaded, NULL);
	return k;
}

enum status cuda_code_add(struct cuda *c, uint32_t id, const void *nest, size_t bytes,
			  struct err *err)
{
	struct nest *spec = NULL;
	enum status st = bytes ? kernels_spec(&spec, id, nest, bytes, err) : OK;

	if (st != OK)
		return st;
	cuda_code_drop(c, id);
	cuda_table_put(&c->kernels, id, kernel_create(c, id, spec));
	return OK;
}

void cuda_code_ref(struct cuda_kernel *k)
{
	atomic_fetch_add(&k->refs, 1);
}

struct code_task {
	struct cuda_task task;
	struct cuda_kernel *kernel; /* held */
	int fd;
	uint64_t bytes;
};

static void unload_run(struct cuda_task *task)
{
	struct cuda_kernel *k = ((struct code_task *)task)->kernel;

	cuda_context_expect(k->c, k->c->api.cuModuleUnload(k->module), "unloading a kernel");
	cuda_tune_forget(k);
	free(k->spec);
	free(k);
	free(task);
}

void cuda_code_unref(struct cuda_kernel *k)
{
	struct code_task *t = NULL;

	if (atomic_fetch_sub(&k->refs, 1) != 1)
		return;
	if (!k->module) {
		cuda_tune_forget(k);
		free(k->spec);
		free(k);
		return;
	}
	t = xcalloc(1, sizeof *t);
	t->task.run = unload_run;
	t->kernel = k;
	cuda_helper_give(&k->c->loader, &t->task);
}

void cuda_code_drop(struct cuda *c, uint32_t id)
{
	struct cuda_kernel *k = cuda_table_take(&c->kernels, id);

	if (k)
		cuda_code_unref(k);
}

/* The image, with a 0 behind it, which PTX wants. */
static enum status image_read(char **out, int fd, uint64_t bytes, struct err *err)
{
	char *image = NULL;
	uint64_t got = 0;

	if (bytes == 0 || bytes > CODE_BYTES_MAX)
		return err_set(err, E_COMPILE, "code of %llu bytes", (unsigned long long)bytes);
	image = malloc(bytes + 1);
	if (!image)
		return err_set(err, E_NOMEM, "no memory for code of %llu bytes",
			       (unsigned long long)bytes);
	while (got < bytes) {
		ssize_t n = pread(fd, image + got, bytes - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(image);
			return err_set(err, E_COMPILE, "code ends after %llu of %llu bytes",
				       (unsigned long long)got, (unsigned long long)bytes);
		}
		got += (uint64_t)n;
	}
	image[bytes] = 0;
	*out = image;
	return OK;
}

/* Load the module and look up every entry now: a lazy driver would do it inside the
 * first launch. */
static enum status module_load(struct cuda_kernel *k, const char *image, struct err *err)
{
	struct cuda *c = k->c;
	char why[1024] = "";
	CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *value[] = {why, (void *)(uintptr_t)sizeof why};
	unsigned found = 0;
	enum status st = cuda_context_check(
		c, c->api.cuModuleLoadDataEx(&k->module, image, 2, option, value), err,
		"loading kernel %u", k->id);

	if (st != OK) {
		if (*why)
			log_warn("cuda_code", "kernel %u: %s", k->id, why);
		return st;
	}
	for (int i = 0; i < ENTRY_END && st == OK; i++) {
		CUresult rc = c->api.cuModuleGetFunction(&k->entry[i], k->module,
							 cuda_entry_name((unsigned)i));

		if (rc == CUDA_ERROR_NOT_FOUND)
			k->entry[i] = NULL;
		else
			st = cuda_context_check(c, rc, err, "entry %s of kernel %u",
						cuda_entry_name((unsigned)i), k->id);
		found += k->entry[i] != NULL;
		if (k->entry[i])
			cuda_facts_entry(&k->facts[i], &c->api, k->entry[i], c->units, &c->limits);
	}
	if (st == OK && !found)
		return err_set(err, E_COMPILE, "kernel %u: its code has no entry point", k->id);
	return st;
}

static void load_run(struct cuda_task *task)
{
	struct code_task *t = (struct code_task *)task;
	struct cuda_kernel *k = t->kernel;
	struct command_done done = {.head = {.kind = DONE_CODE, .bytes = sizeof done, .id = k->id}};
	struct err err = {0};
	char *image = NULL;
	enum status st = image_read(&image, t->fd, t->bytes, &err);

	if (st == OK)
		st = module_load(k, image, &err);
	free(image);
	close(t->fd);
	done.status = (uint32_t)st;
	if (st != OK)
		memcpy(done.text, err.text, sizeof done.text);
	cuda_worker_send(k->c, &done, sizeof done);
	pthread_mutex_lock(&k->lock);
	k->state = st == OK ? CODE_READY : CODE_FAILED;
	k->err = err;
	pthread_cond_broadcast(&k->loaded);
	pthread_mutex_unlock(&k->lock);
	cuda_code_unref(k);
	free(t);
}

/* Code for a kernel that has some already makes a new kernel: runs that were sent
 * before keep the old one. */
static struct cuda_kernel *kernel_to_load(struct cuda *c, uint32_t id)
{
	struct cuda_kernel *k = cuda_table_find(&c->kernels, id), *fresh = NULL;

	bool untouched = false;

	if (k) {
		pthread_mutex_lock(&k->lock);
		untouched = k->state == CODE_NONE;
		pthread_mutex_unlock(&k->lock);
	}
	if (untouched)
		return k;
	fresh = kernel_create(c, id, NULL);
	if (k && k->spec) {
		fresh->spec = xcalloc(1, sizeof *fresh->spec);
		memcpy(fresh->spec, k->spec, sizeof *fresh->spec);
		fresh->checks = k->checks;
	}
	cuda_code_drop(c, id);
	cuda_table_put(&c->kernels, id, fresh);
	return fresh;
}

void cuda_code_load(struct cuda *c, uint32_t id, int fd, uint64_t bytes)
{
	struct cuda_kernel *k = kernel_to_load(c, id);
	struct code_task *t = xcalloc(1, sizeof *t);

	pthread_mutex_lock(&k->lock);
	k->state = CODE_LOADING;
	pthread_mutex_unlock(&k->lock);
	cuda_code_ref(k);
	t->task.run = load_run;
	t->kernel = k;
	t->fd = fd;
	t->bytes = bytes;
	cuda_helper_give(&c->loader, &t->task);
}

enum status cuda_code_entry(CUfunction *out, struct cuda_kernel *k, enum cuda_entry entry,
			    struct err *err)
{
	enum cuda_code_state state = CODE_NONE;

	pthread_mutex_lock(&k->lock);
	while (k->state == CODE_LOADING)
		pthread_cond_wait(&k->loaded, &k->lock);
	state = k->state;
	pthread_mutex_unlock(&k->lock);
	if (state == CODE_FAILED) {
		*err = k->err;
		return err->code;
	}
	if (state == CODE_NONE)
		return err_set(err, E_INTERNAL, "kernel %u has no code", k->id);
	*out = k->entry[entry];
	return *out ? OK
		    : err_set(err, E_INTERNAL, "kernel %u has no entry %s", k->id,
			      cuda_entry_name(entry));
}
