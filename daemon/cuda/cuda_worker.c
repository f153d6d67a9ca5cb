/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_worker.c - the command thread of a CUDA worker; see cuda_worker.h. */
#define _GNU_SOURCE
#include "cuda_worker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_blas.h"
#include "cuda_fft.h"
#include "cuda_solver.h"
#include "cuda_sparse.h"
#include "cuda_error.h"
#include "cores.h"

#define PACKET_BYTES (COMMAND_BYTES + COMMAND_HELD * sizeof(struct command))

#define TICK_MS	 50   /* between two looks of the watch */
#define HANG_MS	 2000 /* a step without progress for so long hangs */
#define GRACE_MS 500  /* after it was cancelled */

#define ISSUER_US      100 /* that an issuer looks for the end of a run, or for the next */
#define ISSUER_MOST_US 10000000
#define TIME_EACH      16 /* of so many short runs one is timed by events */
#define KEEP_MIB       64 /* of freed memory that a lane keeps by itself */
#define KEEP_MOST_MIB  65536

int64_t cuda_worker_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Any thread: a packet goes whole.  The broker always reads, so blocking is brief. */
void cuda_worker_send_file(struct cuda *c, const void *data, size_t bytes, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)data, bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n = 0;

	if (fd >= 0) {
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof control.space;
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &fd, sizeof fd);
	}
	do
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		log_debug("cuda_worker", "the broker has gone: %s", strerror(errno));
}

void cuda_worker_send(struct cuda *c, const void *data, size_t bytes)
{
	cuda_worker_send_file(c, data, bytes, -1);
}

/* Commands that fill the packet, one behind the other. */
static bool well_formed(const char *packet, ssize_t n)
{
	size_t left = (size_t)n;

	while (left >= sizeof(struct command)) {
		const struct command *head = (const struct command *)packet;

		if (head->bytes < sizeof *head || head->bytes > left ||
		    (head->bytes < left && head->bytes % 8))
			return false;
		packet += head->bytes;
		left -= head->bytes;
	}
	return left == 0;
}

/* Read one packet: its bytes, or -1 at the end.  *fd came with it, or is -1. */
static ssize_t packet_read(struct cuda *c, int *fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = c->packet, .iov_len = PACKET_BYTES};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof control.space};
	struct cmsghdr *m = NULL;
	ssize_t n = 0;

	*fd = -1;
	do
		n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	m = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (m && m->cmsg_level == SOL_SOCKET && m->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(m), sizeof *fd);
	if (n > 0 && !(msg.msg_flags & MSG_TRUNC) && well_formed(c->packet, n))
		return n;
	if (n > 0)
		log_error("cuda_worker", "a command of %zd bytes is malformed", n);
	if (*fd >= 0)
		close(*fd);
	c->closed = true;
	return -1;
}

static void region_drop(struct cuda *c, uint32_t id)
{
	struct cuda_lane *owner = cuda_table_take(&c->owners, id);

	if (owner) {
		cuda_lane_give(owner, ITEM_DROP, id, 0, NULL);
		owner->nregion--;
	}
	cuda_region_unmap(c, id);
}

/* A region of this client, which begins with the item. */
static void region_begin(struct cuda *c, uint64_t client, const struct cuda_item *item)
{
	struct cuda_lane *l = NULL;

	region_drop(c, item->region);
	l = cuda_lane_of(c, client);
	l->nregion++;
	cuda_table_put(&c->owners, item->region, l);
	cuda_lane_give_item(l, item);
}

static void region_take(struct cuda *c, const struct command *head)
{
	region_begin(c, head->ticket,
		     &(struct cuda_item){.kind = ITEM_ALLOC, .region = head->id, .arg = head->arg});
}

/* Owns fd. */
static void region_import(struct cuda *c, const struct command *head, int fd)
{
	region_begin(c, head->ticket,
		     &(struct cuda_item){.kind = ITEM_IMPORT,
					 .region = head->id,
					 .fd = fd,
					 .peer = head->peer,
					 .arg = head->arg});
}

static void region_clear(struct cuda *c, uint32_t id)
{
	struct cuda_lane *owner = cuda_table_find(&c->owners, id);

	if (owner)
		cuda_lane_give(owner, ITEM_CLEAR, id, 0, NULL);
}

static void region_export(struct cuda *c, uint32_t id, uint64_t number)
{
	struct cuda_lane *owner = cuda_table_find(&c->owners, id);
	struct err err = {0};

	if (owner) {
		cuda_lane_give(owner, ITEM_EXPORT, id, number, NULL);
		return;
	}
	err_set(&err, E_INTERNAL, "there is no region %u", id);
	cuda_export_refuse(c, number, &err);
}

/* Is it about memory of the device? */
static bool device_region(struct cuda *c, const struct command *head)
{
	if (head->kind == CMD_DEVICE_REGION)
		region_take(c, head);
	else if (head->kind == CMD_DEVICE_CLEAR)
		region_clear(c, head->id);
	else if (head->kind == CMD_DEVICE_EXPORT)
		region_export(c, head->id, head->ticket);
	else
		return false;
	return true;
}

static void run(struct cuda *c, const char *packet, size_t bytes)
{
	const struct command_run *head = (const struct command_run *)packet;
	struct command_done done = {
		.head = {.kind = DONE_RUN, .bytes = sizeof done, .ticket = head->head.ticket},
		.status = E_INTERNAL};

	if (bytes >= sizeof *head) {
		cuda_lane_give(cuda_lane_of(c, head->client), ITEM_RUN, 0, 0,
			       cuda_run_create(c, packet, bytes));
		return;
	}
	snprintf(done.text, sizeof done.text, "a run of %zu bytes", bytes);
	cuda_worker_send(c, &done, sizeof done);
}

static void cancel(struct cuda *c, uint64_t job)
{
	for (struct cuda_lane *l = c->lanes; l; l = l->next)
		cuda_lane_cancel(l, job);
}

static void answer_ping(struct cuda *c, const struct command *ping)
{
	struct command pong = {.kind = DONE_PONG, .bytes = sizeof pong, .ticket = ping->ticket};

	cuda_worker_send(c, &pong, sizeof pong);
}

static void do_packet(struct cuda *c, const char *packet, size_t bytes, int fd)
{
	const struct command *head = (const struct command *)packet;
	struct err err = {0};
	enum status st = OK;

	switch (head->kind) {
	case CMD_REGION:
		region_drop(c, head->id);
		st = cuda_region_map(c, head->id, fd, head->arg, &err);
		break;
	case CMD_REGION_DROP:
		region_drop(c, head->id);
		break;
	case CMD_RELEASE:
		cuda_pin_release(c, head);
		break;
	case CMD_KERNEL:
		st = cuda_code_add(c, head->id, packet + sizeof *head, bytes - sizeof *head, &err);
		break;
	case CMD_CODE:
		cuda_code_load(c, head->id, fd, head->arg);
		fd = -1;
		break;
	case CMD_DEVICE_IMPORT:
		region_import(c, head, fd);
		fd = -1;
		break;
	case CMD_GEOMETRY:
		cuda_tune_accept(c, packet, bytes);
		break;
	case CMD_KERNEL_DROP:
		cuda_code_drop(c, head->id);
		break;
	case CMD_RUN:
		run(c, packet, bytes);
		break;
	case CMD_CANCEL:
		cancel(c, TICKET_JOB(head->ticket));
		break;
	case CMD_PING:
		answer_ping(c, head);
		break;
	default:
		if (device_region(c, head))
			break;
		st = err_set(&err, E_INTERNAL, "command %u is unknown", head->kind);
		break;
	}
	/* A region or kernel that is missing fails the runs that name it. */
	if (st != OK)
		log_error("cuda_worker", "%s", err.text);
	if (fd >= 0)
		close(fd);
}

/* A file belongs to the last of them. */
static void do_packets(struct cuda *c, size_t bytes, int fd)
{
	for (size_t at = 0; at < bytes;) {
		const struct command *head = (const struct command *)(c->packet + at);
		bool last = at + head->bytes == bytes;

		do_packet(c, c->packet + at, head->bytes, last ? fd : -1);
		at += head->bytes;
	}
}

static void say_hello(struct cuda *c, const struct err *err)
{
	struct command_hello hello = {.head = {.kind = DONE_HELLO, .bytes = sizeof hello},
				      .status = (uint32_t)err->code,
				      .arch = c->arch,
				      .memory_bytes = c->memory,
				      .units = c->units,
				      .double_ratio = c->single_to_double,
				      .memory_rate = c->memory_rate,
				      .driver = (uint32_t)c->api.version,
				      .exports = c->exports,
				      .fourier = c->fourier,
				      .factors = c->factors,
				      .peers = c->peers,
				      .again = err->code != OK && cuda_error_passes(c->api.failed)};

	memcpy(hello.name, c->name, sizeof hello.name);
	memcpy(hello.uuid, c->uuid, sizeof hello.uuid);
	memcpy(hello.text, err->text, sizeof hello.text);
	cuda_worker_send(c, &hello, sizeof hello);
}

static int64_t setting(const char *name, int64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? atoll(text) : otherwise;
}

static void read_run_settings(struct cuda *c)
{
	int64_t each = setting("BRAZE_WORKER_TIME_EACH", TIME_EACH);
	int64_t spin = setting("BRAZE_WORKER_SPIN_US", ISSUER_US);
	int64_t keep = setting("BRAZE_WORKER_KEEP_MIB", KEEP_MIB);

	c->time_each = (uint32_t)(each < 1 ? 1 : each < INT32_MAX ? each : INT32_MAX);
	c->spin_ns = (spin < 0 ? 0 : spin < ISSUER_MOST_US ? spin : ISSUER_MOST_US) * 1000;
	c->keep_bytes = (uint64_t)(keep < 0		  ? 0
				   : keep < KEEP_MOST_MIB ? keep
							  : KEEP_MOST_MIB)
			<< 20;
	spin_time(&c->look_ns, getenv("BRAZE_SPIN_US"));
	/* Who looks takes nobody's core where there are few. */
	c->crowded = cores_own() < SPIN_CORES;
}

/* Without settings: an eighth of the machine's memory, in chunks of the usual size. */
static void read_pin_settings(struct cuda *c)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	int64_t limit = setting("BRAZE_WORKER_PIN_MIB", (int64_t)(cuda_pin_limit(memory) >> 20));
	int64_t chunk = setting("BRAZE_WORKER_PIN_CHUNK_KIB", CUDA_CHUNK_BYTES >> 10);

	c->pin_limit = limit > 0 ? (uint64_t)limit << 20 : 0;
	/* Whole pages, and a table of chunks that stays small. */
	c->chunk_bytes = (uint64_t)(chunk < 64 ? 64 : chunk) / 64 * 64 << 10;
}

static void serve(struct cuda *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	struct spin_pace pace = {0}; /* of packets, one behind the other */
	bool busy = false;

	while (!c->closed) {
		int64_t look = spin_pace_time(&pace, c->look_ns),
			begun = look ? cuda_worker_clock() : 0;
		int fd = -1;
		ssize_t n = 0;

		p.revents = 0;
		if (spin_readable(c->fd, look))
			p.revents = POLLIN;
		else if (poll(&p, 1, 0) == 0) {
			atomic_fetch_add(&c->page->wakes, 1);
			poll(&p, 1, busy ? TICK_MS : -1);
		}
		if (p.revents && begun)
			spin_pace_note(&pace, cuda_worker_clock() - begun);
		if (p.revents && (n = packet_read(c, &fd)) > 0) {
			atomic_fetch_add(&c->page->packets, 1);
			do_packets(c, (size_t)n, fd);
		}
		busy = cuda_watch_tick(c);
	}
}

/* The worker's exit status: memory that nobody gave back is a mistake. */
static int finish(struct cuda *c)
{
	unsigned long long left = 0, pinned = 0;

	cuda_tune_finish(c);
	cuda_lane_finish(c);
	while (c->hosts.count)
		cuda_region_unmap(c, c->hosts.item[0].id);
	while (c->kernels.count)
		cuda_code_drop(c, c->kernels.item[0].id);
	cuda_helper_finish(&c->loader);
	cuda_helper_finish(&c->pinner);
	cuda_table_finish(&c->hosts);
	cuda_table_finish(&c->owners);
	cuda_table_finish(&c->kernels);
	cuda_ring_close(c, &c->up);
	cuda_ring_close(c, &c->down);
	cuda_blas_finish(c);
	cuda_fft_finish(c);
	cuda_solver_finish(c);
	cuda_sparse_finish(c);
	cuda_words_finish(c);
	cuda_context_close(c);
	left = atomic_load(&c->used);
	pinned = atomic_load(&c->pinned);
	if (left || pinned)
		log_error("cuda_worker", "%llu bytes of the device and %llu pinned are left", left,
			  pinned);
	return left || pinned;
}

int cuda_worker_serve(int fd, struct progress *page, int ordinal)
{
	struct cuda *c = xcalloc(1, sizeof *c);
	struct err err = {0};
	enum status st = OK;
	int rc = 0;

	c->fd = fd;
	c->page = page;
	c->hang_ns = setting("BRAZE_WORKER_HANG_MS", HANG_MS) * 1000000;
	if (c->hang_ns <= 0)
		c->hang_ns = INT64_MAX / 4; /* nothing hangs: a debugger or profiler looks on */
	c->grace_ns = setting("BRAZE_WORKER_GRACE_MS", GRACE_MS) * 1000000;
	read_run_settings(c);
	read_pin_settings(c);
	c->packet = xmalloc(PACKET_BYTES);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->words.lock, NULL);
	pthread_mutex_init(&c->trimming, NULL);
	cuda_tune_init(c);
	cuda_ring_init(&c->up);
	cuda_ring_init(&c->down);
	cuda_blas_init(c);
	st = cuda_context_open(c, ordinal, &err);
	if (st == OK)
		st = cuda_helper_start(&c->loader, c, &err);
	if (st == OK)
		st = cuda_helper_start(&c->pinner, c, &err);
	c->fourier = st == OK && cuda_fft_open(c);
	c->factors = st == OK && cuda_solver_open(c);
	if (st == OK && cuda_sparse_open(c))
		log_debug("cuda_worker", "products of sparse matrices are cuSPARSE's");
	say_hello(c, &err);
	c->serves = st == OK;
	if (st == OK) {
		if (cuda_tune_start(c, &err) != OK)
			log_warn("cuda_worker", "%s", err.text);
		serve(c);
	} else {
		log_warn("cuda_worker", "%s", err.text);
	}
	rc = finish(c);
	free(c->packet);
	free(c);
	return rc;
}
