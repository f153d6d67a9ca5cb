/* SPDX-License-Identifier: Apache-2.0 */
/* wire/decode.h - a packet's bytes as one checked request.
 *
 * The only reader of generated protobuf structs.  A scan of the tags refuses what
 * no client of ours sends (unknown or repeated fields, unpacked columns) before
 * the library allocates, and the allocator is a bump of fixed size, so hostile
 * bytes cannot be amplified.  Results point into the decoder and the packet until
 * the next call. */
#ifndef BRAZE_DECODE_H
#define BRAZE_DECODE_H

#include "../trace/record.h"

struct decode_hello {
	uint32_t major, minor, pid, flags;
	uint64_t op_table;
	uint32_t ops; /* operations' numbers are below this; 0: not said */
	const char *name, *device;
	const char *visible; /* its CUDA_VISIBLE_DEVICES behind a '='; "": it has none */
};

/* Who a client says it is. */
struct decode_about {
	const char *name, *program, *file, *job, *environment;
};

struct decode_publish {
	uint64_t ticket;
	uint32_t id, access, number;
	const char *label;
};

struct decode_open {
	uint64_t ticket, owner;
	uint32_t id;
	const char *label, *key;
};

struct decode_export {
	uint64_t ticket;
	uint32_t id, room, dtype;
	size_t ndim;
	const int64_t *shape;
	const char *device;
	bool look;
};

struct request {
	uint64_t seq, near;
	bool has_hello, has_trace, has_demand, has_fence, has_cancel, has_lease, has_unlease,
		has_explain, has_compile, has_about, has_publish, has_open, has_export, has_offer,
		has_grid;
	struct decode_hello hello;
	struct decode_about about;
	struct record_columns trace;
	struct {
		uint64_t ticket;
		size_t n;
		const uint32_t *id;
		size_t nalso;
		const uint32_t *also;
		const char *where;
		bool tell; /* what was spent */
		bool stay; /* values may lie on a device */
	} demand;
	struct {
		uint64_t ticket;
		uint32_t id;
	} fence;
	struct {
		uint64_t ticket;
	} cancel;
	struct {
		uint64_t ticket, bytes;
	} lease;
	struct {
		uint64_t offset, bytes;
	} unlease;
	struct {
		uint64_t ticket;
		uint32_t id;
	} explain;
	struct {
		uint64_t ticket;
		const char *text;
	} compile;
	struct {
		uint64_t ticket;
		uint32_t device;
		bool rates;
	} offer;
	struct {
		uint32_t number;
		struct grid_words words;
	} grid;
	struct decode_publish publish;
	struct decode_open open;
	struct decode_export export;
};

struct decoder;

struct decoder *decode_create(void);
void decode_destroy(struct decoder *d);
enum status decode_request(struct request *out, struct decoder *d, const uint8_t *data, size_t n,
			   struct err *err) MUST_USE;

#endif
