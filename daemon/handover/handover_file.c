/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "handover_file.h"

#include <errno.h>
#include <fcntl.h>
#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/hash.h"
#include "../base/xalloc.h"

#define MAGIC "braze-ho"
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct header {
	char magic[8];
	uint32_t format, unused;
	uint64_t bytes; /* behind the header */
	uint64_t hash;	/* of each message with its length, from the one before */
};

struct handover_out {
	int fd;
	struct header header;
};

struct handover_in {
	const uint8_t *bytes; /* all of the file */
	size_t size, at;
};

static enum status write_all(int fd, const void *data, size_t n, struct err *err)
{
	const uint8_t *at = data;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return err_set(err, E_SYSTEM, "cannot write the state: %s",
				       strerror(errno));
		at += done;
		n -= (size_t)done;
	}
	return OK;
}

struct handover_out *handover_file_begin(struct err *err)
{
	struct handover_out *o = xcalloc(1, sizeof *o);

	memcpy(o->header.magic, MAGIC, sizeof o->header.magic);
	o->header.format = HANDOVER_FORMAT;
	o->fd = memfd_create("braze-handover", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (o->fd < 0)
		err_set(err, E_SYSTEM, "no memory file for the state: %s", strerror(errno));
	else if (write_all(o->fd, &o->header, sizeof o->header, err) == OK)
		return o;
	handover_file_drop(o);
	return NULL;
}

/* The length in front makes a message's hash its own. */
static uint64_t chain(uint64_t hash, const uint8_t *data, uint64_t n)
{
	return hash_bytes(data, n, hash ^ n);
}

enum status handover_file_put(struct handover_out *o, const struct ProtobufCMessage *m,
			      struct err *err)
{
	uint64_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *bytes = xmalloc(n ? n : 1);
	enum status st = OK;

	protobuf_c_message_pack(m, bytes);
	st = write_all(o->fd, &n, sizeof n, err);
	if (!st)
		st = write_all(o->fd, bytes, n, err);
	o->header.hash = chain(o->header.hash, bytes, n);
	o->header.bytes += sizeof n + n;
	free(bytes);
	return st;
}

int handover_file_seal(struct handover_out *o, struct err *err)
{
	int fd = o->fd;

	if (pwrite(fd, &o->header, sizeof o->header, 0) == sizeof o->header &&
	    !fcntl(fd, F_ADD_SEALS, SEALS)) {
		free(o);
		return fd;
	}
	err_set(err, E_SYSTEM, "cannot seal the state: %s", strerror(errno));
	handover_file_drop(o);
	return -1;
}

void handover_file_drop(struct handover_out *o)
{
	if (o && o->fd >= 0)
		close(o->fd);
	free(o);
}

/* ---- Reading ---- */

static enum status check(const struct handover_in *in, struct err *err)
{
	struct header h;
	size_t at = sizeof h;
	uint64_t hash = 0, n = 0;

	memcpy(&h, in->bytes, sizeof h);
	if (memcmp(h.magic, MAGIC, sizeof h.magic))
		return err_set(err, E_INVALID, "it is not the state of a daemon");
	if (!h.format || h.format > HANDOVER_FORMAT)
		return err_set(err, E_VERSION,
			       "the state has format %u, this program (%s) knows formats up to %d",
			       h.format, BRAZE_DAEMON_VERSION, HANDOVER_FORMAT);
	if (h.bytes != in->size - at)
		return err_set(err, E_INVALID, "the state has %zu bytes instead of %llu",
			       in->size - at, (unsigned long long)h.bytes);
	while (in->size - at >= sizeof n) {
		memcpy(&n, in->bytes + at, sizeof n);
		at += sizeof n;
		if (n > in->size - at)
			break;
		hash = chain(hash, in->bytes + at, n);
		at += n;
	}
	if (at != in->size || hash != h.hash)
		return err_set(err, E_INVALID, "the state is damaged");
	return OK;
}

enum status handover_file_open(struct handover_in **out, int fd, struct err *err)
{
	struct handover_in *in = NULL;
	void *bytes = MAP_FAILED;
	int seals = fcntl(fd, F_GET_SEALS);
	enum status st = OK;
	struct stat info;

	if (seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, &info) &&
	    info.st_size >= (off_t)sizeof(struct header))
		bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return err_set(err, E_INVALID, "descriptor %d is no sealed memory file", fd);
	in = xcalloc(1, sizeof *in);
	*in = (struct handover_in){bytes, (size_t)info.st_size, sizeof(struct header)};
	st = check(in, err);
	if (st) {
		handover_file_close(in);
		return st;
	}
	*out = in;
	return OK;
}

const uint8_t *handover_file_next(struct handover_in *in, size_t *n)
{
	const uint8_t *data = NULL;
	uint64_t length = 0;

	if (in->at == in->size)
		return NULL;
	memcpy(&length, in->bytes + in->at, sizeof length);
	data = in->bytes + in->at + sizeof length;
	in->at += sizeof length + length;
	*n = length;
	return data;
}

void handover_file_close(struct handover_in *in)
{
	if (!in)
		return;
	munmap((void *)in->bytes, in->size);
	free(in);
}
