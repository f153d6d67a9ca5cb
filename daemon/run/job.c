/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

#include "../base/xalloc.h"
#include "spoilt.h"

/* What this job does with a slot's mirror. */
enum slot_use {
	USE_MIRROR = 1, /* counted among its users */
	USE_UPLOAD = 2, /* it carries the value there */
	USE_WRITE = 4,	/* an output lies there at the end */
	USE_BACK = 8	/* it carries the value back */
};

/* ---- Are the inputs there? ---- */

/* Slots of all turns. */
static size_t slots(const struct job *j)
{
	return (size_t)j->partition->turns * j->run.plan->nslot;
}

static enum job_state running_input(const struct version *v, const struct device *d,
				    struct err *err)
{
	if (!v->storage) {
		err_set(err, E_CANCELLED, "an input was cancelled");
		return JOB_STOP;
	}
	/* Jobs of one client on one device are done in order; across devices not. */
	return v->storage->writer == d->index + 1 ? JOB_GO : JOB_WAIT;
}

void job_withdraw(struct job *j)
{
	for (size_t i = 0; j->slot && i < slots(j); i++)
		if (j->slot[i] && j->slot[i]->writing)
			j->slot[i]->writer = 0;
}

/* Does the job's device, or the CPU, write this slot's input in place? */
static bool is_overwritten(const struct job *j, uint32_t s)
{
	const struct plan *plan = j->run.plan;

	for (uint32_t i = 0; i < j->partition->part.nvalue; i++)
		if (plan->value_slot[i] == s && i != plan->slot[s].input)
			return true;
	return false;
}

static enum job_state stored_input(const struct job *j, uint32_t slot, struct storage *s,
				   struct storage **fetch)
{
	const struct device *d = j->device;
	const struct mirror *m = mirror_on(s, d), *source = mirror_source(s);

	/* Jobs of one client on one device are done in order; across devices not. */
	if (s->carrying || (mirror_busy_elsewhere(s, d) && is_overwritten(j, slot)))
		return JOB_WAIT;
	if (s->host || (d->index && m && m->valid))
		return JOB_GO;
	*fetch = s;
	if (s->fetching)
		return JOB_WAIT;
	if (source && !s->by_host && s->bytes >= device_carried_from() &&
	    device_reaches(d, source->device))
		return JOB_CARRY_FIRST;
	return JOB_FETCH_FIRST;
}

/* What a turn's slot has from outside the job, unless the turn before had it there as well. */
static struct version *outer_input(const struct job *j, size_t at)
{
	const struct partition *p = j->partition;
	uint32_t turn = (uint32_t)(at / j->run.plan->nslot);
	uint32_t in = j->run.plan->slot[at % j->run.plan->nslot].input;
	struct version *v = NULL;

	if (in == PART_NONE || !partition_foreign(p, turn, in))
		return NULL;
	v = partition_value(p, turn, in);
	return turn && v == partition_value(p, turn - 1, in) ? NULL : v;
}

enum job_state job_ready(const struct job *j, struct trace *t, struct storage **fetch,
			 struct err *err)
{
	const struct device *d = j->device;
	enum job_state state = JOB_GO;

	for (size_t i = 0; i < slots(j) && state == JOB_GO; i++) {
		struct version *v = outer_input(j, i);

		if (!v)
			continue;
		if (v->state == VERSION_STORED && storage_lost(v->storage) &&
		    version_revive(t, v)) {
			err_set(err, E_CANCELLED, "an input is made again");
			return JOB_STOP;
		}
		if (v->state == VERSION_STORED && storage_lost(v->storage)) {
			err_set(err, E_LOST, "lost: the array was only on %s, whose worker died",
				d->name);
			version_fail(t, v, err);
		}
		/* What does not depend on it is cut out anew. */
		if (v->state == VERSION_FAILED) {
			err_set(err, E_CANCELLED, "an input failed");
			return JOB_STOP;
		}
		state = v->state == VERSION_STORED
				? stored_input(j, (uint32_t)(i % j->run.plan->nslot), v->storage,
					       fetch)
				: running_input(v, d, err);
	}
	return state;
}

void job_keep_inputs(const struct job *j, int more)
{
	for (uint32_t s = 0; j->device->index && s < j->run.plan->nslot; s++) {
		uint32_t in = j->run.plan->slot[s].input;
		const struct storage *st =
			in != PART_NONE ? j->partition->value[in]->storage : NULL;
		struct mirror *m = st ? mirror_on(st, j->device) : NULL;

		if (m)
			m->users += (uint32_t)more;
	}
}

uint64_t job_mirror_bytes(const struct job *j)
{
	const struct plan *plan = j->run.plan;
	uint64_t bytes = 0;

	for (uint32_t s = 0; j->device->index && s < plan->nslot; s++) {
		uint32_t in = plan->slot[s].input;

		if (in == PART_NONE || !mirror_on(j->partition->value[in]->storage, j->device))
			bytes += plan->slot[s].bytes;
	}
	return bytes;
}

/* Values of all turns. */
static size_t values(const struct job *j)
{
	return (size_t)j->partition->turns * j->partition->part.nvalue;
}

enum status job_inputs(const struct job *j, struct err *err)
{
	const struct part *p = &j->partition->part;

	for (uint32_t turn = 0; turn < j->partition->turns; turn++)
		for (uint32_t i = 0; i < p->nvalue; i++) {
			const struct version *v = partition_value(j->partition, turn, i);

			if (partition_foreign(j->partition, turn, i) &&
			    v->state != VERSION_FAILED && v->state != VERSION_STORED)
				return err_set(err, E_CANCELLED, "an input was cancelled");
		}
	for (uint32_t s = 0; j->slot_use && s < j->run.plan->nslot; s++) {
		const struct mirror *m = mirror_on(j->slot[s], j->device);
		uint32_t in = j->run.plan->slot[s].input;

		if (in != PART_NONE && j->partition->value[in]->state == VERSION_STORED &&
		    !(j->slot_use[s] & USE_UPLOAD) && !(m && m->valid))
			return err_set(err, E_CANCELLED, "an input did not reach the device");
	}
	return OK;
}

/* ---- Binding ---- */

/* Does the turn store this value for others than the job's turns? */
static bool is_output(const struct job *j, uint32_t turn, uint32_t i)
{
	const struct partition *p = j->partition;

	return p->part.value[i].role == PART_OUTPUT &&
	       (!p->live || p->live[(size_t)turn * p->part.nvalue + i]);
}

/* Bytes from the start of slot s to where its plan's offsets begin. */
static int64_t slot_from(const struct job *j, uint32_t s)
{
	const struct plan_slot *slot = &j->run.plan->slot[s];

	return j->partition->from && slot->input != PART_NONE ? j->partition->from[slot->input] : 0;
}

/* Small demanded outputs come back with the completion, so that reading a 0-d
 * result touches no shared page. */
static void choose_fetches(struct job *j)
{
	const struct part *p = &j->partition->part;
	struct plan *plan = j->run.plan;

	j->run.nfetch = 0;
	for (uint32_t i = 0; i < p->nvalue && j->run.nfetch < JOB_FETCH; i++) {
		uint32_t s = plan->value_slot[i], turn = j->partition->turns - 1;

		uint64_t bytes = partition_value(j->partition, turn, i)->bytes;

		if (!is_output(j, turn, i) || s == PART_NONE || !bytes ||
		    bytes > LIMIT_INLINE_BYTES)
			continue;
		j->fetch[j->run.nfetch].place = j->place[(size_t)turn * plan->nslot + s];
		j->fetch[j->run.nfetch].place.offset -= (uint64_t)slot_from(j, s);
		j->fetch[j->run.nfetch].bytes = (uint32_t)bytes;
		j->fetched[j->run.nfetch++] = partition_value(j->partition, turn, i);
	}
	j->run.fetch = j->fetch;
}

/* Is a turn's slot a copy of its input, which others may still read? */
static bool is_copy(const struct job *j, uint32_t turn, uint32_t s)
{
	const struct partition *p = j->partition;
	uint32_t in = j->run.plan->slot[s].input;
	bool copy = false;

	if (!p->copied || in == PART_NONE || !partition_foreign(p, turn, in))
		return false;
	for (uint32_t i = 0; i < p->part.nvalue && !copy; i++)
		copy = p->part.value[i].prev == in && p->copied[turn * p->part.nvalue + i];
	return copy;
}

#define CHAIN 4 /* turns' values that take the storage of one before */

/* Turns behind its own in which a value's storage is still in use, itself or what took it; with
 * `left` 0: nobody knows. */
static uint32_t in_use(const struct partition *p, uint32_t i, unsigned left)
{
	uint32_t most = 0;

	for (uint32_t k = 0; k < p->part.nvalue && most != PART_NONE; k++) {
		uint32_t in = p->part.value[k].prev, more = 0;

		if (p->carry[k].value == i && p->carry[k].lag > most)
			most = p->carry[k].lag;
		if (in == PART_NONE || p->carry[in].value != i || !p->part.value[k].take)
			continue;
		more = left ? in_use(p, k, left - 1) : PART_NONE;
		if (more == PART_NONE)
			most = PART_NONE;
		else if (p->carry[in].lag + more > most)
			most = p->carry[in].lag + more;
	}
	return most;
}

/* The storage that an earlier turn's value had in slot s and needs no more; NULL: there is none. */
static struct storage *spare_storage(const struct job *j, uint32_t turn, uint32_t s)
{
	const struct partition *p = j->partition;
	const struct plan *plan = j->run.plan;
	uint32_t i = plan->slot[s].value, use = in_use(p, i, CHAIN), from = 0;

	if (use == PART_NONE || turn <= use)
		return NULL;
	from = turn - 1 - use;
	/* Nothing that had it may be read from outside. */
	for (uint32_t k = from; k < turn; k++)
		for (uint32_t v = 0; v < p->part.nvalue; v++)
			if (p->live[(size_t)k * p->part.nvalue + v] &&
			    j->slot[(size_t)k * plan->nslot + plan->value_slot[v]] ==
				    j->slot[(size_t)from * plan->nslot + s])
				return NULL;
	return j->slot[(size_t)from * plan->nslot + s];
}

/* Of a value with sizes, so many as the turn's has. */
static uint64_t slot_bytes(const struct job *j, uint32_t turn, uint32_t s)
{
	const struct plan_slot *slot = &j->run.plan->slot[s];

	if (!j->run.plan->nsize || slot->value == PART_NONE)
		return slot->bytes;
	return partition_value(j->partition, turn, slot->value)->bytes;
}

/* Only what is stored for others than the job can be published. */
static enum home slot_home(const struct job *j, uint32_t turn, uint32_t s)
{
	uint32_t i = j->run.plan->slot[s].value;

	if (i == PART_NONE || !is_output(j, turn, i))
		return HOME_ARENA;
	return (enum home)partition_value(j->partition, turn, i)->home;
}

/* Storage for slot s of a turn, on the host or to be mirrored; NULL: there is no room. */
static struct storage *slot_storage(struct job *j, struct trace *t, uint32_t turn, uint32_t s,
				    struct err *err)
{
	const struct partition *p = j->partition;
	const struct plan *plan = j->run.plan;
	const struct plan_slot *slot = &plan->slot[s];
	struct storage *spare = NULL;

	if (slot->input != PART_NONE && !partition_foreign(p, turn, slot->input)) {
		const struct part_carry *c = &p->carry[slot->input];

		return storage_ref(j->slot[(size_t)(turn - c->lag) * plan->nslot +
					   plan->value_slot[c->value]]);
	}
	if (slot->input != PART_NONE && !is_copy(j, turn, s))
		return storage_ref(partition_value(p, turn, slot->input)->storage);
	if (turn && slot->value == PART_NONE)
		return storage_ref(j->slot[s]);
	if (turn && slot->input == PART_NONE)
		spare = spare_storage(j, turn, s);
	if (spare && spare->bytes == slot_bytes(j, turn, s))
		return storage_ref(spare);
	if (j->device->index)
		return storage_bare(t, slot->bytes, slot_home(j, turn, s));
	return storage_create(t, slot_bytes(j, turn, s), slot_home(j, turn, s), err);
}

struct command_place job_host_place(const struct storage *s, uint32_t region)
{
	return (struct command_place){.region = s->share ? s->share->region : region,
				      .offset = s->extent.offset};
}

/* Slot s in the device's memory, with the copy that brings its value there. */
static enum status bind_mirror(struct job *j, struct trace *t, uint32_t s, uint32_t region,
			       struct err *err)
{
	struct storage *st = j->slot[s];
	bool fresh = !mirror_on(st, j->device);
	struct mirror *m = mirror_use(j->device, t, st, j->run.client);

	if (!m)
		return err_set(err, E_NOMEM, "%s has no room for %llu bytes", j->device->name,
			       (unsigned long long)st->bytes);
	/* A device's memory goes from client to client; an arena is one client's. */
	if (fresh && j->run.plan->slot[s].empty)
		executor_device_clear(j->device->executor, m->region);
	j->slot_use[s] = USE_MIRROR;
	j->place[s] = mirror_place(m);
	m->valid |= !st->bytes;
	if (j->run.plan->slot[s].input != PART_NONE && !m->valid && !m->arriving && !st->writing) {
		j->copy[j->run.nbefore++] = (struct executor_copy){
			.from = job_host_place(st, region), .to = j->place[s], .bytes = st->bytes};
		j->slot_use[s] |= USE_UPLOAD;
		m->arriving = 1;
	}
	return OK;
}

static void bind_output(struct job *j, struct trace *t, struct version *v, uint32_t turn,
			uint32_t s)
{
	struct storage *st = j->slot[(size_t)turn * j->run.plan->nslot + s];

	version_attach(t, v, storage_ref(st));
	st->writer = j->device->index + 1;
	st->writing++;
	st->reads = 0;
}

/* Outputs get their storage; those that somebody waits for are carried back. */
static enum status bind_outputs(struct job *j, struct trace *t, uint32_t region, struct err *err)
{
	const struct part *p = &j->partition->part;
	enum status st = OK;

	for (size_t k = 0, i = 0, turn = 0; k < values(j) && st == OK; k++, i++) {
		struct version *v = j->partition->value[k];
		uint32_t s = 0;

		if (i == p->nvalue) {
			i = 0;
			turn++;
		}
		if (!is_output(j, (uint32_t)turn, (uint32_t)i))
			continue;
		s = j->run.plan->value_slot[i];
		bind_output(j, t, v, (uint32_t)turn, s);
		if (!j->slot_use)
			continue;
		j->slot_use[s] |= USE_WRITE;
		if (!v->asked || (j->slot_use[s] & USE_BACK))
			continue;
		st = storage_place(t, j->slot[s], err);
		if (st != OK || !j->slot[s]->bytes)
			continue;
		j->slot_use[s] |= USE_BACK;
		j->copy[j->run.nbefore + j->run.nafter++] =
			(struct executor_copy){.from = j->place[s],
					       .to = job_host_place(j->slot[s], region),
					       .bytes = j->slot[s]->bytes};
	}
	return st;
}

/* Let go of the slots' storage and of what was made for it. */
static void release(struct job *j, struct trace *t)
{
	for (size_t s = 0; j->slot && s < slots(j); s++) {
		struct storage *st = j->slot[s];
		struct mirror *m = st ? mirror_on(st, j->device) : NULL;

		if (st && j->run.fresh)
			st->fresh |= j->run.fresh[s];
		if (m && j->slot_use && (j->slot_use[s] & USE_MIRROR)) {
			if (j->slot_use[s] & USE_UPLOAD)
				m->arriving = 0;
			mirror_release(m);
		}
		storage_unref(t, st);
	}
	turn_end(&j->run);
	free(j->slot);
	free(j->place);
	free(j->copy);
	free(j->slot_use);
	free(j->run.fresh);
	j->run.fresh = NULL;
	j->slot = NULL;
	j->place = NULL;
	j->copy = NULL;
	j->slot_use = NULL;
	j->run.nbefore = j->run.nafter = j->run.nfetch = 0;
}

/* Outputs lose the storage they were given. */
static void detach_outputs(struct job *j, struct trace *t)
{
	const struct part *p = &j->partition->part;

	for (size_t k = 0; k < values(j); k++) {
		struct version *v = j->partition->value[k];

		if (!is_output(j, (uint32_t)(k / p->nvalue), (uint32_t)(k % p->nvalue)) ||
		    !v->storage)
			continue;
		v->storage->writing--;
		version_detach(t, v);
	}
}

/* The job is the first to touch the slot's memory; what it does not touch, it gives back. */
static void bind_fresh(struct job *j, size_t at)
{
	if (!j->slot[at]->fresh)
		return;
	if (!j->run.fresh)
		j->run.fresh = xcalloc(slots(j), 1);
	j->run.fresh[at] = 1;
	j->slot[at]->fresh = 0;
}

/* One slot of one turn. */
static enum status bind_slot(struct job *j, struct trace *t, size_t at, uint32_t region,
			     struct err *err)
{
	uint32_t turn = (uint32_t)(at / j->run.plan->nslot);
	uint32_t s = (uint32_t)(at % j->run.plan->nslot);

	j->slot[at] = slot_storage(j, t, turn, s, err);
	if (!j->slot[at])
		return err ? err->code : E_NOMEM;
	if (j->device->index)
		return bind_mirror(j, t, s, region, err);
	j->place[at] = job_host_place(j->slot[at], region);
	j->place[at].offset += (uint64_t)slot_from(j, s);
	bind_fresh(j, at);
	if (is_copy(j, turn, s))
		j->copy[j->run.nbefore++] = (struct executor_copy){
			.from = job_host_place(
				partition_value(j->partition, turn, j->run.plan->slot[s].input)
					->storage,
				region),
			.to = job_host_place(j->slot[at], region),
			.bytes = j->slot[at]->bytes};
	return OK;
}

/* Inputs that are copied: of the first turns, of which there are as many as carry anything. */
static size_t copies(const struct job *j)
{
	size_t n = 0;

	for (size_t i = 0; j->partition->copied && i < values(j); i++)
		n += j->partition->copied[i];
	return n;
}

enum status job_bind(struct job *j, struct trace *t, uint32_t region, struct err *err)
{
	const struct plan *plan = j->run.plan;
	enum status st = OK;

	j->run.turns = j->partition->turns;
	j->run.nimm = j->partition->part.nimm;
	j->slot = xcalloc(slots(j), sizeof *j->slot);
	j->place = xcalloc(slots(j), sizeof *j->place);
	j->copy = xcalloc(j->device->index ? 2 * plan->nslot : copies(j), sizeof *j->copy);
	if (j->device->index)
		j->slot_use = xcalloc(plan->nslot, 1);
	for (size_t i = 0; i < slots(j) && st == OK; i++)
		st = bind_slot(j, t, i, region, err);
	if (st == OK) {
		st = bind_outputs(j, t, region, err);
		if (st != OK)
			detach_outputs(j, t);
	}
	if (st != OK) {
		release(j, t);
		return st;
	}
	j->run.size = j->partition->size;
	turn_begin(&j->run);
	j->run.place = j->place;
	j->run.copy = j->copy;
	j->run.imm = j->partition->imm ? j->partition->imm : j->partition->part.imm;
	if (!j->device->index)
		choose_fetches(j);
	return OK;
}

bool job_host_whole(const struct job *j)
{
	for (uint32_t s = 0; j->slot_use && s < j->run.plan->nslot; s++)
		if (j->run.plan->slot[s].input != PART_NONE && j->slot_use[s] & USE_WRITE &&
		    !j->slot[s]->host)
			return false;
	return true;
}

/* What was made for an input and did not get its value may be what there was no
 * memory for. */
static void drop_unfilled(struct job *j)
{
	const struct plan *plan = j->run.plan;

	for (uint32_t s = 0; s < plan->nslot; s++) {
		uint32_t in = plan->slot[s].input;
		struct storage *st = in != PART_NONE ? j->partition->value[in]->storage : NULL;

		struct mirror *m = st ? mirror_on(st, j->device) : NULL;

		if (m && !m->valid && !m->users)
			mirror_drop(m);
	}
}

void job_unbind(struct job *j, struct trace *t)
{
	detach_outputs(j, t);
	release(j, t);
	drop_unfilled(j);
}

/* ---- The outcome ---- */

/* Where the values lie after the job has run. */
static void settle_places(struct job *j)
{
	for (size_t s = 0; j->slot && s < slots(j); s++) {
		struct storage *st = j->slot[s];
		struct mirror *m = mirror_on(st, j->device);

		if (!j->slot_use) {
			/* Written on the CPU, in place perhaps. */
			if (st->writing)
				mirror_outdate(st, NULL);
			continue;
		}
		if (m && (j->slot_use[s] & (USE_UPLOAD | USE_WRITE)))
			m->valid = 1;
		if (!(j->slot_use[s] & USE_WRITE))
			continue;
		st->host = j->slot_use[s] & USE_BACK || !st->bytes;
		st->by_host = 0;
		if (m)
			mirror_outdate(st, m);
	}
}

/* What was being overwritten on the device is neither the old value nor the new. */
static void spoil_places(struct job *j)
{
	for (uint32_t s = 0; j->slot_use && s < j->run.plan->nslot; s++) {
		struct mirror *m = mirror_on(j->slot[s], j->device);

		if (m && (j->slot_use[s] & USE_WRITE))
			m->valid = 0;
	}
}

/* Is a value of a turn that was done read by one that was not, since the job was cut short?
 * Its storage is still its own: only turns behind its last reader would have had it. */
static bool is_left_over(const struct job *j, uint32_t turn, uint32_t i)
{
	const struct partition *p = j->partition;
	bool left = false;

	for (uint32_t k = 0; p->carry && k < p->part.nvalue && !left; k++)
		left = p->carry[k].value == i && turn + p->carry[k].lag >= j->run.turns;
	return left && turn < j->run.turns;
}

/* The value of one output, or of a temporary, that the job was to make in a turn. */
static void settle_value(struct job *j, struct trace *t, uint32_t turn, uint32_t i,
			 enum job_end end, const struct err *err)
{
	struct version *v = partition_value(j->partition, turn, i);
	bool output = is_output(j, turn, i), done = end == JOB_DONE && turn < j->run.turns;

	if (done && !output && j->run.turns < j->partition->turns && is_left_over(j, turn, i)) {
		bind_output(j, t, v, turn, j->run.plan->value_slot[i]);
		output = true;
	}
	if (output && v->storage)
		v->storage->writing--;
	if (done && output) {
		v->storage->plan = j->run.plan->number;
		v->storage->made_on = (uint8_t)(j->device->index + 1);
		if (v->storage->host)
			version_store(t, v);
		return;
	}
	version_detach(t, v);
	if (end == JOB_FAILED)
		version_fail(t, v, err);
	else
		version_wait(t, v);
}

/* Does the job still owe this value?  A recipe stayed pending: if it runs by now, then
 * in a later job.  What a turn takes over, the one that made it owes. */
static bool owes(const struct job *j, uint32_t turn, uint32_t i)
{
	return partition_value(j->partition, turn, i)->state == VERSION_RUNNING &&
	       j->partition->part.value[i].role != PART_INPUT && !j->partition->kept[i];
}

/* A value that cannot be had; a recipe that is pending would find the same again. */
static void settle_spoilt(struct job *j, struct trace *t, uint32_t turn, uint32_t i,
			  const struct err *err)
{
	struct version *v = partition_value(j->partition, turn, i);

	if (owes(j, turn, i))
		settle_value(j, t, turn, i, JOB_FAILED, err);
	else if (j->partition->kept[i] && v->state == VERSION_PENDING)
		version_fail(t, v, err);
}

/* What depends on a wrong place or on a failed input: all else is as if there had been none. */
static void settle_all_spoilt(struct job *j, struct trace *t)
{
	struct spoilt_values *s = spoilt_find(j);
	struct err why;

	for (uint32_t turn = 0; s && turn < j->run.turns; turn++)
		for (uint32_t i = 0; i < j->partition->part.nvalue; i++)
			if (spoilt_why(&why, s, turn, i))
				settle_spoilt(j, t, turn, i, &why);
	spoilt_free(s);
}

void job_settle(struct job *j, struct trace *t, enum job_end end, const struct err *err)
{
	if (end == JOB_DONE)
		settle_places(j);
	else if (end == JOB_FAILED)
		spoil_places(j);
	if (end == JOB_DONE)
		settle_all_spoilt(j, t);
	for (uint32_t turn = 0; turn < j->partition->turns; turn++)
		for (uint32_t i = 0; i < j->partition->part.nvalue; i++)
			if (owes(j, turn, i))
				settle_value(j, t, turn, i, end, err);
	/* What lies on the device only: last, when all that it was made of has settled. */
	for (uint32_t i = 0; j->slot_use && i < j->partition->part.nvalue; i++)
		if (owes(j, 0, i))
			version_store_remote(t, j->partition->value[i]);
}

void job_let_go(struct job *j, struct trace *t)
{
	uint32_t nfetch = j->run.nfetch;

	release(j, t);
	j->run.nfetch = nfetch;
	partition_free(t, j->partition);
	j->partition = NULL;
}

void job_free(struct job *j, struct trace *t)
{
	job_let_go(j, t);
	free(j->run.fault);
	free(j);
}
