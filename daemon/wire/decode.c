/* SPDX-License-Identifier: Apache-2.0 */
#include "decode.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "braze.pb-c.h"

/* A packet of 60 KiB unpacks to little more than its own size: columns are the
 * bulk, and they are packed. */
#define BUMP_BYTES (256u * 1024)

struct decoder {
	size_t used;
	ProtobufCAllocator allocator;
	_Alignas(16) unsigned char bump[BUMP_BYTES];
};

static void *bump_alloc(void *data, size_t n)
{
	struct decoder *d = data;
	size_t at = (d->used + 15) & ~(size_t)15;

	if (n > BUMP_BYTES || at > BUMP_BYTES - n)
		return NULL;
	d->used = at + n;
	return d->bump + at;
}

static void bump_free(void *data, void *p)
{
	(void)data;
	(void)p;
}

struct decoder *decode_create(void)
{
	struct decoder *d = xmalloc(sizeof *d);

	d->used = 0;
	d->allocator = (ProtobufCAllocator){bump_alloc, bump_free, d};
	return d;
}

void decode_destroy(struct decoder *d)
{
	free(d);
}

/* What a message may contain: per field number its wire type, 0 for unknown. */
struct fields {
	uint8_t n;
	uint8_t type[18]; /* wire type + 1 */
};

#define VARINT	1
#define FIXED64 2
#define LENGTH	3
#define FIXED32 6

static const struct fields request_fields = {17,
					     {0, VARINT, LENGTH, LENGTH, LENGTH, LENGTH, LENGTH,
					      LENGTH, LENGTH, LENGTH, VARINT, LENGTH, LENGTH,
					      LENGTH, LENGTH, LENGTH, LENGTH, LENGTH}};
static const struct fields nested_fields[18] = {
	[2] = {9, {0, VARINT, VARINT, FIXED64, VARINT, LENGTH, LENGTH, VARINT, VARINT, LENGTH}},
	[3] = {6, {0, LENGTH, LENGTH, LENGTH, LENGTH, VARINT, VARINT}},
	[4] = {7, {0, VARINT, LENGTH, LENGTH, LENGTH, VARINT, VARINT, VARINT}},
	[5] = {2, {0, VARINT, FIXED32}},
	[6] = {1, {0, VARINT}},
	[7] = {2, {0, VARINT, VARINT}},
	[8] = {2, {0, VARINT, VARINT}},
	[9] = {2, {0, VARINT, FIXED32}},
	[11] = {2, {0, VARINT, LENGTH}},
	[12] = {5, {0, LENGTH, LENGTH, LENGTH, LENGTH, LENGTH}},
	[13] = {5, {0, VARINT, FIXED32, LENGTH, VARINT, VARINT}},
	[14] = {5, {0, VARINT, FIXED32, LENGTH, VARINT, LENGTH}},
	[15] = {7, {0, VARINT, FIXED32, FIXED32, VARINT, LENGTH, LENGTH, VARINT}},
	[16] = {3, {0, VARINT, VARINT, VARINT}},
	[17] = {8, {0, VARINT, LENGTH, VARINT, VARINT, VARINT, VARINT, VARINT, VARINT}},
};

static bool varint(uint64_t *out, const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && *p < end; shift += 7) {
		uint8_t byte = *(*p)++;

		v |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128)) {
			*out = v;
			return true;
		}
	}
	return false;
}

/* Each known field at most once and of its own wire type; `inside` of a nested
 * message is checked against its own list. */
static bool scan(const uint8_t *p, const uint8_t *end, const struct fields *f, bool top)
{
	uint32_t seen = 0;
	uint64_t tag, n;

	while (p < end) {
		unsigned field, type;

		if (!varint(&tag, &p, end) || tag >> 3 > f->n || !(tag >> 3))
			return false;
		field = (unsigned)(tag >> 3);
		type = (unsigned)(tag & 7);
		if (f->type[field] != type + 1 || seen & 1u << field)
			return false;
		seen |= 1u << field;
		if (type == 0) {
			if (!varint(&n, &p, end))
				return false;
			continue;
		}
		if (type == 2) {
			if (!varint(&n, &p, end))
				return false;
		} else {
			n = type == 1 ? 8 : 4;
		}
		if (n > (uint64_t)(end - p))
			return false;
		if (top && type == 2 && !scan(p, p + n, &nested_fields[field], false))
			return false;
		p += n;
	}
	return true;
}

/* What changes nothing of the session's arrays. */
static void fill_questions(struct request *out, const Braze__Wire__Request *r)
{
	if (r->explain) {
		out->has_explain = true;
		out->explain.ticket = r->explain->ticket;
		out->explain.id = r->explain->id;
	}
	if (r->compile) {
		out->has_compile = true;
		out->compile.ticket = r->compile->ticket;
		out->compile.text = r->compile->text;
	}
	if (r->offer) {
		out->has_offer = true;
		out->offer.ticket = r->offer->ticket;
		out->offer.device = r->offer->device;
		out->offer.rates = r->offer->rates;
	}
	if (r->about) {
		out->has_about = true;
		out->about =
			(struct decode_about){r->about->name, r->about->program, r->about->file,
					      r->about->job, r->about->environment};
	}
}

/* Arrays of several sessions. */
static void fill_shared(struct request *out, const Braze__Wire__Request *r)
{
	if (r->publish) {
		out->has_publish = true;
		out->publish = (struct decode_publish){r->publish->ticket, r->publish->id,
						       r->publish->access, r->publish->number,
						       r->publish->label};
	}
	if (r->open) {
		out->has_open = true;
		out->open = (struct decode_open){r->open->ticket, r->open->owner, r->open->id,
						 r->open->label, r->open->key};
	}
	if (r->export) {
		out->has_export = true;
		out->export = (struct decode_export){
			r->export->ticket,  r->export->id,    r->export->room,	 r->export->dtype,
			r->export->n_shape, r->export->shape, r->export->device, r->export->look};
	}
}

static void fill(struct request *out, const Braze__Wire__Request *r)
{
	memset(out, 0, sizeof *out);
	out->seq = r->seq;
	out->near = r->near;
	if (r->hello) {
		out->has_hello = true;
		out->hello = (struct decode_hello){
			r->hello->major, r->hello->minor,    r->hello->pid,
			r->hello->flags, r->hello->op_table, r->hello->ops,
			r->hello->name,	 r->hello->device,   r->hello->visible};
	}
	if (r->trace) {
		out->has_trace = true;
		out->trace = (struct record_columns){
			r->trace->n_head, r->trace->n_out, r->trace->n_in, r->trace->n_imm,
			r->trace->head,	  r->trace->out,   r->trace->in,   r->trace->imm,
			r->trace->device, r->trace->shared};
	}
	if (r->demand) {
		out->has_demand = true;
		out->demand.ticket = r->demand->ticket;
		out->demand.n = r->demand->n_id;
		out->demand.id = r->demand->id;
		out->demand.where = r->demand->where;
		out->demand.nalso = r->demand->n_also;
		out->demand.also = r->demand->also;
		out->demand.tell = r->demand->tell;
		out->demand.stay = r->demand->stay;
	}
	if (r->fence) {
		out->has_fence = true;
		out->fence.ticket = r->fence->ticket;
		out->fence.id = r->fence->id;
	}
	if (r->cancel) {
		out->has_cancel = true;
		out->cancel.ticket = r->cancel->ticket;
	}
	if (r->lease) {
		out->has_lease = true;
		out->lease.ticket = r->lease->ticket;
		out->lease.bytes = r->lease->bytes;
	}
	if (r->unlease) {
		out->has_unlease = true;
		out->unlease.offset = r->unlease->offset;
		out->unlease.bytes = r->unlease->bytes;
	}
	if (r->grid) {
		out->has_grid = true;
		out->grid.number = r->grid->number;
		out->grid.words = (struct grid_words){
			r->grid->text, r->grid->range, r->grid->levels, r->grid->fast,
			r->grid->only, r->grid->sum,   r->grid->keeps};
	}
	fill_questions(out, r);
	fill_shared(out, r);
}

enum status decode_request(struct request *out, struct decoder *d, const uint8_t *data, size_t n,
			   struct err *err)
{
	Braze__Wire__Request *r;

	if (!scan(data, data + n, &request_fields, true))
		return err_set(err, E_PROTOCOL, "packet of %zu bytes is not a braze request", n);
	d->used = 0;
	r = braze__wire__request__unpack(&d->allocator, n, data);
	if (!r)
		return err_set(err, E_PROTOCOL, "packet of %zu bytes does not decode", n);
	fill(out, r);
	if (out->has_demand && (!out->demand.n || out->demand.n > LIMIT_DEMAND_IDS))
		return err_set(err, E_LIMIT, "a demand names 1 to %d arrays, not %zu",
			       LIMIT_DEMAND_IDS, out->demand.n);
	if (out->has_demand && out->demand.nalso > LIMIT_DEMAND_ALSO)
		return err_set(err, E_LIMIT, "a demand names at most %d arrays beside, not %zu",
			       LIMIT_DEMAND_ALSO, out->demand.nalso);
	return OK;
}
