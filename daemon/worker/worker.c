/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker.c - the command loop of a worker process; see worker.h. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "spin.h"

#define STREAM_BYTES (16 << 20) /* where the size of the cache is not known */
#define CACHE_CORE   (4l << 20) /* of the third cache, that a core has for itself at most, */
#define CACHE_LEAST  (32 << 20) /* and that a few have: one complex of AMD's */
#define POLL_NS	     200000	/* the socket is looked at no more often while a run is under way */

int64_t worker_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Read one packet: its bytes, 0 when there is none, -1 at the end.  *fd is the
 * descriptor that came with it, or -1. */
static ssize_t packet_read(struct worker *w, char *buf, int *fd, int flags)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = buf, .iov_len = COMMAND_BYTES};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof control.space};
	struct cmsghdr *c = NULL;
	const struct command *head = (const struct command *)buf;
	ssize_t n = 0;

	*fd = -1;
	do
		n = recvmsg(w->fd, &msg, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof *fd);
	if (n < (ssize_t)sizeof *head || (msg.msg_flags & MSG_TRUNC) || head->bytes != n) {
		if (n > 0)
			log_error("worker", "a command of %zd bytes is malformed", n);
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		w->closed = true;
		return -1;
	}
	return n;
}

/* Completions are small and the broker always reads: blocking here is brief. */
static void packet_send(struct worker *w, const void *data, size_t bytes)
{
	ssize_t n = 0;

	do
		n = send(w->fd, data, bytes, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		w->closed = true;
}

static void answer_ping(struct worker *w, const struct command *ping)
{
	struct command pong = {.kind = DONE_PONG, .bytes = sizeof pong, .ticket = ping->ticket};

	packet_send(w, &pong, sizeof pong);
}

/* Its rank among runs; RANK_ALONE of all other packets. */
static uint32_t rank_of(const char *packet, size_t bytes)
{
	const struct command_run *run = (const struct command_run *)packet;

	return run->head.kind == CMD_RUN && bytes >= sizeof *run ? run->rank : RANK_ALONE;
}

static uint64_t client_of(const struct worker_packet *p)
{
	return ((const struct command_run *)p->data)->client;
}

/* At the end of those that wait.  What goes first goes before other clients' runs there, and before
 * nothing that may have been sent for it, or whose order matters otherwise. */
static void enqueue(struct worker *w, const char *packet, size_t bytes, int fd)
{
	struct worker_packet *p = xmalloc(sizeof *p + bytes), **at = w->tail;

	*p = (struct worker_packet){.fd = fd, .bytes = bytes};
	memcpy(p->data, packet, bytes);
	if (rank_of(p->data, bytes) == RANK_FIRST) {
		at = &w->head;
		for (struct worker_packet *q = w->head; q; q = q->next)
			if (rank_of(q->data, q->bytes) != RANK_WAITS ||
			    client_of(q) == client_of(p))
				at = &q->next;
	}
	p->next = *at;
	*at = p;
	if (!p->next)
		w->tail = &p->next;
}

/* Other threads read the word while they compute. */
static void cancel_set(struct worker *w, uint32_t value)
{
	__atomic_store_n(&w->cancel, value, __ATOMIC_RELAXED);
}

static void cancel(struct worker *w, uint64_t ticket)
{
	uint64_t job = TICKET_JOB(ticket);

	for (struct worker_packet *p = w->head; p; p = p->next) {
		const struct command *head = (const struct command *)p->data;

		if (head->kind == CMD_RUN && TICKET_JOB(head->ticket) == job)
			p->cancelled = true;
	}
	if (w->ticket && TICKET_JOB(w->ticket) == job)
		cancel_set(w, 1); /* its partial results go when it has stopped */
	else
		worker_forget(w, job);
}

void worker_poll(void *worker)
{
	struct worker *w = worker;
	int64_t now = worker_clock();
	ssize_t n = 0;
	int fd = -1;

	w->unpolled_ns = 0;
	w->progress->thread[0].turns++;
	if (now - w->polled_ns < POLL_NS || w->closed)
		return;
	w->polled_ns = now;
	while ((n = packet_read(w, w->late, &fd, MSG_DONTWAIT)) > 0) {
		const struct command *head = (const struct command *)w->late;

		if (head->kind == CMD_PING) {
			answer_ping(w, head);
		} else if (head->kind == CMD_CANCEL) {
			cancel(w, head->ticket);
		} else {
			enqueue(w, w->late, (size_t)n, fd);
			continue;
		}
		if (fd >= 0)
			close(fd);
	}
	if (w->closed)
		cancel_set(w, 1); /* nobody is left to read the result */
}

void worker_poll_step(struct worker *w)
{
	w->progress->thread[0].turns++;
	if (w->unpolled_ns == 0 || w->unpolled_ns > POLL_NS / 4)
		worker_poll(w);
}

static void do_run(struct worker *w, const char *packet, size_t bytes, bool cancelled)
{
	const struct command *head = (const struct command *)packet;
	_Alignas(8) char reply[COMMAND_DONE_BYTES];
	struct command_done *done = (struct command_done *)reply;
	char *fetched = reply + sizeof *done;
	size_t used;

	*done = (struct command_done){.head = {.kind = DONE_RUN, .ticket = head->ticket}};
	cancel_set(w, cancelled);
	w->ticket = head->ticket;
	w->progress->thread[0].step = 0;
	w->progress->thread[0].ticket = head->ticket;
	worker_run(w, packet, bytes, done, fetched);
	w->progress->thread[0].kernel = 0;
	if (done->status != OK)
		worker_forget(w, TICKET_JOB(head->ticket));
	used = done->nfetch * LIMIT_INLINE_BYTES;
	memcpy(fetched + used, w->fault, done->nfault * sizeof w->fault[0]);
	used += sizeof *done + done->nfault * sizeof w->fault[0];
	done->head.bytes = (uint32_t)used;
	packet_send(w, done, used);
	/* Only now: the broker must find the ticket here unless it has the answer. */
	w->progress->thread[0].ticket = 0;
	w->ticket = 0;
}

static void do_code(struct worker *w, const struct command *head, int fd)
{
	struct command_done done = {
		.head = {.kind = DONE_CODE, .bytes = sizeof done, .id = head->id}};
	struct err err = {0};

	done.status = (uint32_t)kernels_load(&w->kernels, head->id, fd, &err);
	if (done.status != OK)
		memcpy(done.text, err.text, sizeof done.text);
	packet_send(w, &done, sizeof done);
}

static void do_packet(struct worker *w, const char *packet, size_t bytes, int fd, bool cancelled)
{
	const struct command *head = (const struct command *)packet;
	struct err err = {0};
	enum status st = OK;

	switch (head->kind) {
	case CMD_REGION:
		st = region_map(&w->regions, head->id, fd, head->arg, &err);
		break;
	case CMD_REGION_DROP:
		region_unmap(&w->regions, head->id);
		break;
	case CMD_KERNEL:
		st = kernels_add(&w->kernels, head->id, packet + sizeof *head, bytes - sizeof *head,
				 &err);
		break;
	case CMD_CODE:
		do_code(w, head, fd);
		break;
	case CMD_KERNEL_DROP:
		kernels_drop(&w->kernels, head->id);
		break;
	case CMD_RUN:
		do_run(w, packet, bytes, cancelled);
		break;
	case CMD_CANCEL:
		cancel(w, head->ticket);
		break;
	case CMD_PING:
		answer_ping(w, head);
		break;
	default:
		st = err_set(&err, E_INTERNAL, "command %u is unknown", head->kind);
		break;
	}
	/* A region or kernel that is missing fails the runs that name it. */
	if (st != OK)
		log_error("worker", "%s", err.text);
	if (fd >= 0)
		close(fd);
}

static void say_hello(struct worker *w)
{
	struct command_hello hello = {.head = {.kind = DONE_HELLO, .bytes = sizeof hello},
				      .units = (uint32_t)pool_threads(w->pool),
				      .name = "cpu"};

	packet_send(w, &hello, sizeof hello);
}

/* Next packet: from the queue, or waited for. */
static bool serve_one(struct worker *w)
{
	struct worker_packet *p = NULL;
	ssize_t n = 0;
	int fd = -1;

	w->progress->thread[0].turns++;
	if (!w->head) {
		spin_readable(w->fd, w->spin_ns);
		n = packet_read(w, w->packet, &fd, 0);
		if (n > 0 && rank_of(w->packet, (size_t)n) == RANK_WAITS)
			enqueue(w, w->packet, (size_t)n, fd);
		else if (n > 0)
			do_packet(w, w->packet, (size_t)n, fd, false);
	}
	if (!w->head)
		return !w->closed;
	w->polled_ns = 0; /* has something come that goes before it? */
	worker_poll(w);
	p = w->head;
	w->head = p->next;
	if (!w->head)
		w->tail = &w->head;
	do_packet(w, p->data, p->bytes, p->fd, p->cancelled);
	free(p);
	return !w->closed;
}

static void worker_finish(struct worker *w)
{
	while (w->head) {
		struct worker_packet *p = w->head;

		w->head = p->next;
		if (p->fd >= 0)
			close(p->fd);
		free(p);
	}
	while (w->parts)
		worker_forget(w, w->parts->job);
	worker_grids_finish(w);
	pool_destroy(w->pool);
	kernels_finish(&w->kernels);
	region_finish(&w->regions);
	matmul_close(&w->matmul);
	for (int i = 0; i < PROGRESS_THREADS; i++) {
		free(w->thread[i].scratch);
		matmul_scratch_finish(&w->thread[i].matmul);
	}
	free(w->packet);
	free(w->late);
	free(w);
}

/* Bytes of the third cache; 0: not known.  The kernel's word comes first: the C library works them
 * out from the processor's own, which in a virtual machine has other cores (eight times too many
 * bytes were seen). */
static int64_t cache_bytes(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
	long kilobytes = 0, guess = sysconf(_SC_LEVEL3_CACHE_SIZE);
	bool told = f && fscanf(f, "%ldK", &kilobytes) == 1 && kilobytes > 0;

	if (f)
		fclose(f);
	return told ? kilobytes * 1024 : guess > 0 ? guess : 0;
}

/* Of larger results too little would still be in the last cache when the next step
 * reads them to pay for fetching the lines that are overwritten.  A virtual machine of few cores is
 * told the size of a whole socket's, most of which others use: with 260 MB so told and two cores
 * results of 24 MB took 1.7 times as long to write, and were not sooner read. */
static int64_t stream_bytes(void)
{
	int64_t cache = cache_bytes(), own = CACHE_CORE * sysconf(_SC_NPROCESSORS_ONLN);

	own = own < CACHE_LEAST ? CACHE_LEAST : own;
	return cache > 0 ? (cache < own ? cache : own) / 2 : STREAM_BYTES;
}

/* AMD's processors read one stream ahead so well that several slow each other down: a matrix times
 * a vector comes from memory in rows at 31 GB/s a core, by eight pieces of rows at 20. */
static uint64_t far_way(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_is("amd") ? KERNEL_WHOLE : KERNEL_FAR;
}

enum status worker_serve(int fd, struct progress *progress, const struct kernel_ops *ops,
			 int threads, struct err *err)
{
	struct worker *w = xcalloc(1, sizeof *w);
	enum status st = OK;

	w->fd = fd;
	spin_time(&w->spin_ns, getenv("BRAZE_SPIN_US"));
	w->progress = progress;
	w->progress->thread[0].tid = (uint32_t)gettid();
	w->tail = &w->head;
	w->stream_bytes = stream_bytes();
	w->far = far_way();
	w->packet = xmalloc(COMMAND_BYTES);
	w->late = xmalloc(COMMAND_BYTES);
	kernels_init(&w->kernels, ops);
	matmul_open(&w->matmul);
	st = pool_create(&w->pool, threads, err);
	if (st != OK)
		goto out;
	log_debug("worker", "%d threads, %s%s", pool_threads(w->pool),
		  w->matmul.handle ? "OpenBLAS for " : "own matrix product",
		  w->matmul.core ? w->matmul.core() : "");
	say_hello(w);
	while (serve_one(w))
		;
out:
	worker_finish(w);
	return st;
}
