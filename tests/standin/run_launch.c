/* SPDX-License-Identifier: Apache-2.0 */
/* run_launch.c - a launch: its blocks, in some order, on one or two threads.
 *
 * In: a kernel, a grid, parameters.  Out: a report.  The buffers of a block (register
 * file, shared and local memory) stay with the kernel for its next launch; registers
 * with values known beforehand are filled once for each shape of launch. */
#include "run.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_LIMIT 0xffff00u

void run_fault(struct run *r, enum ptx_fault fault, unsigned lane, const char *fmt, ...)
{
	const unsigned *b = r->launch->block;
	struct ptx_report *report = r->report;
	va_list args;

	if (report->fault != PTX_OK)
		return;
	report->fault = fault;
	int n = snprintf(report->text, sizeof(report->text),
			 "kernel %s, PTX line %u, block (%u,%u,%u), thread (%u,%u,%u), lane %u: ",
			 r->f->name, r->m->ins[r->pc].line, r->cta[0], r->cta[1], r->cta[2],
			 lane % b[0], lane / b[0] % b[1], lane / (b[0] * b[1]), lane);
	if (n < 0 || (size_t)n >= sizeof(report->text))
		return;
	va_start(args, fmt);
	vsnprintf(report->text + n, sizeof(report->text) - (size_t)n, fmt, args);
	va_end(args);
}

const char *ptx_kernel_name(const struct ptx_function *f)
{
	return f->name;
}

/* ---- buffers ---- */

static pthread_mutex_t spaces_lock = PTHREAD_MUTEX_INITIALIZER;

static void *buffer(size_t bytes, int fill)
{
	size_t rounded = (bytes + 127) & ~(size_t)63;
	void *p = aligned_alloc(64, rounded);

	if (!p) {
		fprintf(stderr, "standin: no host memory for %zu bytes of a block\n", bytes);
		abort();
	}
	memset(p, fill, rounded);
	return p;
}

static void free_space(struct run_space *s)
{
	void *const all[] = {s->file, s->call_space, s->local,	 s->shared, s->written,
			     s->read, s->address,    s->pointer, s->wide,   s->pc,
			     s->ret,  s->state,	     s->active,	 s->guarded};

	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		free(all[k]);
	free(s);
}

void run_free_spaces(struct ptx_function *f)
{
	while (f->spaces) {
		struct run_space *s = f->spaces;

		f->spaces = s->next;
		free_space(s);
	}
}

static size_t local_bytes(const struct ptx_function *entry)
{
	size_t most = entry->local;

	for (const struct ptx_function *f = entry->module->functions; f; f = f->next)
		if (!f->entry && f->local > most)
			most = f->local;
	return (most + 15) & ~(size_t)15;
}

static size_t dynamic_base(const struct ptx_function *f)
{
	return (f->shared + 15) & ~(size_t)15;
}

static struct run_space *make_space(const struct run *r)
{
	const struct ptx_function *f = r->f;
	size_t n = r->lanes;
	struct run_space *s = buffer(sizeof(*s), 0);

	*s = (struct run_space){.lanes = r->lanes};
	s->shared_bytes = dynamic_base(f) + r->launch->dynamic_shared;
	s->dynamic_shared = r->launch->dynamic_shared;
	s->file_bytes = (size_t)f->base + f->reg_bytes;
	s->file = buffer((s->file_bytes + 16) * n, 0xcd);
	s->call_space = buffer((size_t)f->module->call_bytes * n, 0xcd);
	s->local = buffer(r->local_bytes * n, 0xcd);
	s->shared = buffer(s->shared_bytes, 0xcd);
	if (r->host->race) {
		s->shadow_bytes = s->shared_bytes * sizeof(u32);
		s->written = buffer(s->shadow_bytes, 0);
		s->read = buffer(s->shadow_bytes, 0);
	}
	s->address = buffer(n * sizeof(u64), 0);
	s->pointer = buffer(n * sizeof(char *), 0);
	s->wide = buffer(n * sizeof(u64), 0);
	s->pc = buffer(n * sizeof(u32), 0);
	s->ret = buffer(n * f->module->nfunctions * sizeof(u32), 0);
	s->state = buffer(n, 0);
	s->active = buffer((n + 1) * sizeof(u16), 0);
	s->guarded = buffer((n + 1) * sizeof(u16), 0);
	return s;
}

static bool fits(const struct run_space *s, const struct run *r)
{
	return s->lanes == r->lanes && s->dynamic_shared == r->launch->dynamic_shared &&
	       (s->written || !r->host->race);
}

static struct run_space *take_space(struct run *r)
{
	struct ptx_function *f = (struct ptx_function *)r->f;
	struct run_space *s, **at;

	pthread_mutex_lock(&spaces_lock);
	for (at = &f->spaces; *at && !fits(*at, r); at = &(*at)->next)
		;
	s = *at;
	if (s)
		*at = s->next;
	pthread_mutex_unlock(&spaces_lock);
	return s ? s : make_space(r);
}

/* Few are kept: launches of many shapes would keep a file for each. */
static void keep_space(struct ptx_function *f, struct run_space *s)
{
	struct run_space *last = NULL;
	unsigned n = 0;

	pthread_mutex_lock(&spaces_lock);
	s->next = f->spaces;
	f->spaces = s;
	for (struct run_space **at = &f->spaces; *at; at = &(*at)->next)
		if (++n > 4) {
			last = *at;
			*at = NULL;
			break;
		}
	pthread_mutex_unlock(&spaces_lock);
	if (last)
		free_space(last);
}

/* ---- registers with values known beforehand ---- */

static void fill(struct run *r, const struct ptx_constant *c, u64 value)
{
	switch (c->bytes) {
	case 1:
		memset(REG(u8, c->reg), (int)value, r->lanes);
		break;
	case 2:
		for (unsigned l = 0; l < r->lanes; l++)
			REG(u16, c->reg)[l] = (u16)value;
		break;
	case 4:
		for (unsigned l = 0; l < r->lanes; l++)
			REG(u32, c->reg)[l] = (u32)value;
		break;
	default:
		for (unsigned l = 0; l < r->lanes; l++)
			REG(u64, c->reg)[l] = value;
	}
}

/* The same for all lanes of a launch. */
static u64 launch_value(const struct run *r, u64 special)
{
	const struct ptx_launch *a = r->launch;

	switch (special) {
	case SPECIAL_NTID_X:
	case SPECIAL_NTID_Y:
	case SPECIAL_NTID_Z:
		return a->block[special - SPECIAL_NTID_X];
	case SPECIAL_NCTAID_X:
	case SPECIAL_NCTAID_Y:
	case SPECIAL_NCTAID_Z:
		return a->grid[special - SPECIAL_NCTAID_X];
	case SPECIAL_NWARPID:
		return (r->lanes + 31) / 32;
	case SPECIAL_NSMID:
		return r->host->sms;
	case SPECIAL_DYNAMIC_SIZE:
		return a->dynamic_shared;
	case SPECIAL_TOTAL_SIZE:
		return r->space->shared_bytes;
	default: /* grid number, and what each block fills in */
		return 0;
	}
}

static u32 lane_value(const struct run *r, u64 special, u32 l)
{
	const unsigned *b = r->launch->block;
	u32 bit = 1u << (l & 31);

	switch (special) {
	case SPECIAL_TID_X:
		return l % b[0];
	case SPECIAL_TID_Y:
		return l / b[0] % b[1];
	case SPECIAL_TID_Z:
		return l / (b[0] * b[1]);
	case SPECIAL_LANEID:
		return l & 31;
	case SPECIAL_WARPID:
		return l / 32;
	case SPECIAL_MASK_LT:
		return bit - 1;
	case SPECIAL_MASK_LE:
		return bit | (bit - 1);
	case SPECIAL_MASK_GT:
		return ~(bit | (bit - 1));
	case SPECIAL_MASK_GE:
		return ~(bit - 1);
	default:
		return bit;
	}
}

static bool of_lane(u64 special)
{
	return special <= SPECIAL_TID_Z || special == SPECIAL_LANEID || special == SPECIAL_WARPID ||
	       (special >= SPECIAL_MASK_LT && special <= SPECIAL_MASK_EQ);
}

static bool of_block(const struct ptx_constant *c)
{
	return c->preset == PRESET_SPECIAL &&
	       ((c->value >= SPECIAL_CTAID_X && c->value <= SPECIAL_CTAID_Z) ||
		c->value == SPECIAL_SMID);
}

static void fill_function(struct run *r, const struct ptx_function *f)
{
	for (uint32_t k = 0; k < f->nconstants; k++) {
		const struct ptx_constant *c = &f->constants[k];

		if (c->preset == PRESET_VALUE)
			fill(r, c, c->value);
		else if (c->preset == PRESET_DYNAMIC)
			fill(r, c, c->value + dynamic_base(r->f));
		else if (of_lane(c->value))
			for (u32 l = 0; l < r->lanes; l++)
				REG(u32, c->reg)[l] = lane_value(r, c->value, l);
		else if (!of_block(c))
			fill(r, c, launch_value(r, c->value));
	}
}

static void fill_presets(struct run *r)
{
	struct run_space *s = r->space;
	const struct ptx_launch *a = r->launch;

	if (s->presets_valid && !memcmp(s->block, a->block, sizeof(s->block)) &&
	    !memcmp(s->grid, a->grid, sizeof(s->grid)) && s->sms == r->host->sms)
		return;
	for (const struct ptx_function *f = r->m->functions; f; f = f->next)
		if (!f->entry)
			fill_function(r, f);
	fill_function(r, r->f);
	memcpy(s->block, a->block, sizeof(s->block));
	memcpy(s->grid, a->grid, sizeof(s->grid));
	s->sms = r->host->sms;
	s->presets_valid = true;
}

static void fill_block(struct run *r, u64 number)
{
	for (const struct ptx_function *f = r->m->functions; f; f = f->next)
		for (uint32_t k = 0; k < f->nconstants && (!f->entry || f == r->f); k++) {
			const struct ptx_constant *c = &f->constants[k];

			if (of_block(c))
				fill(r, c,
				     c->value == SPECIAL_SMID ? number % r->host->sms
							      : r->cta[c->value - SPECIAL_CTAID_X]);
		}
}

/* ---- blocks ---- */

struct order { /* block k of the launch is (k * step + start) % count */
	u64 count, step, start;
};

static u64 divisor(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static struct order make_order(u64 count, u64 seed)
{
	struct order o = {count, 1, 0};

	if (!seed || count < 3)
		return o;
	o.start = seed % count;
	for (o.step = (seed * 0x9e3779b97f4a7c15ull >> 20) % count | 1; divisor(o.step, count) != 1;
	     o.step++)
		;
	return o;
}

struct work {
	struct ptx_function *f;
	const struct ptx_host *host;
	const struct ptx_launch *launch;
	struct order order;
	u64 next;
	int stop;
	pthread_mutex_t lock;
	struct ptx_report *report;
};

static void enter_block(struct run *r, u64 number)
{
	const unsigned *grid = r->launch->grid;
	struct run_space *s = r->space;

	r->cta[0] = (unsigned)(number % grid[0]);
	r->cta[1] = (unsigned)(number / grid[0] % grid[1]);
	r->cta[2] = (unsigned)(number / ((u64)grid[0] * grid[1]));
	fill_block(r, number);
	memset(s->shared, 0xcd, s->shared_bytes);
	if (++s->epoch > EPOCH_LIMIT && s->written) {
		memset(s->written, 0, s->shadow_bytes);
		memset(s->read, 0, s->shadow_bytes);
		s->epoch = 1;
	}
}

static void tell_touched(const struct run *r)
{
	for (unsigned k = 0; r->host->touched && k < RUN_TOUCHED; k++) {
		const struct run_touched *t = &r->touched[k];

		if (t->used)
			r->host->touched(r->host->data, t->allocation, t->lo, t->hi, t->write);
	}
}

static void finish(struct work *w, const struct run *r)
{
	const struct ptx_report *mine = r->report;

	pthread_mutex_lock(&w->lock);
	tell_touched(r);
	if (mine->fault && !w->report->fault)
		*w->report = *mine;
	w->report->instructions += r->total;
	w->report->bytes += r->bytes;
	pthread_mutex_unlock(&w->lock);
}

static void execute(void *data)
{
	struct work *w = data;
	struct ptx_report report = {.fault = PTX_OK};
	struct run r = {.f = w->f,
			.m = w->f->module,
			.host = w->host,
			.launch = w->launch,
			.report = &report,
			.stop = &w->stop};
	const unsigned *b = w->launch->block;

	r.lanes = b[0] * b[1] * b[2];
	r.local_bytes = local_bytes(w->f);
	r.space = take_space(&r);
	r.file = r.space->file;
	fill_presets(&r);
	while (!run_stopped(&r)) {
		u64 k = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);

		if (k >= w->order.count)
			break;
		enter_block(&r, (u64)(((u128)k * w->order.step + w->order.start) % w->order.count));
		r.first = 0;
		r.count = r.lanes;
		r.index = NULL;
		run_block(&r);
	}
	if (report.fault)
		__atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
	finish(w, &r);
	keep_space(w->f, r.space);
}

/* ---- the second thread ---- */

static struct {
	pthread_mutex_t lock, owner; /* owner: one launch at a time has the helper */
	pthread_cond_t changed;
	bool started;
	struct work *job;
} helper = {.lock = PTHREAD_MUTEX_INITIALIZER,
	    .owner = PTHREAD_MUTEX_INITIALIZER,
	    .changed = PTHREAD_COND_INITIALIZER};

static void *help(void *unused)
{
	pthread_mutex_lock(&helper.lock);
	for (;;) {
		while (!helper.job)
			pthread_cond_wait(&helper.changed, &helper.lock);
		struct work *job = helper.job;
		pthread_mutex_unlock(&helper.lock);
		execute(job);
		pthread_mutex_lock(&helper.lock);
		helper.job = NULL;
		pthread_cond_broadcast(&helper.changed);
	}
	return unused;
}

static bool start_helper(struct work *w)
{
	pthread_t thread;

	if (pthread_mutex_trylock(&helper.owner))
		return false;
	pthread_mutex_lock(&helper.lock);
	if (!helper.started && !pthread_create(&thread, NULL, help, NULL)) {
		pthread_detach(thread);
		helper.started = true;
	}
	bool started = helper.started;
	if (started) {
		helper.job = w;
		pthread_cond_broadcast(&helper.changed);
	}
	pthread_mutex_unlock(&helper.lock);
	if (!started)
		pthread_mutex_unlock(&helper.owner);
	return started;
}

static void await_helper(void)
{
	pthread_mutex_lock(&helper.lock);
	while (helper.job)
		pthread_cond_wait(&helper.changed, &helper.lock);
	pthread_mutex_unlock(&helper.lock);
	pthread_mutex_unlock(&helper.owner);
}

void ptx_run(struct ptx_function *f, const struct ptx_host *host, const struct ptx_launch *launch,
	     struct ptx_report *report)
{
	const unsigned *g = launch->grid, *b = launch->block;
	u64 blocks = (u64)g[0] * g[1] * g[2], lanes = (u64)b[0] * b[1] * b[2];
	struct work w = {.f = f,
			 .host = host,
			 .launch = launch,
			 .order = make_order(blocks, host->seed),
			 .lock = PTHREAD_MUTEX_INITIALIZER,
			 .report = report};

	*report = (struct ptx_report){.fault = PTX_OK};
	bool helped = host->threads > 1 && blocks > 3 && blocks * lanes > 2048 && start_helper(&w);
	execute(&w);
	if (helped)
		await_helper();
}
