/* SPDX-License-Identifier: Apache-2.0 */
/* run/device.h - devices, and which values lie in their memory.
 *
 * A mirror is the copy of one storage in one device's memory: a region of the
 * device's worker.  The broker alone makes and frees mirrors, as it does extents of
 * the arenas, so it knows what a device holds and what can go when memory is short:
 * mirrors that no job uses, least recently used first, after their values have been
 * fetched where neither the host nor another device has them.
 *
 * Where a stored value lies, and what moves it:
 *
 *   host  mirror valid
 *    1      -          as after an import, or a run on the CPU
 *    1      1          read on the device (uploaded), or fetched to be read
 *    0      1          made on the device, not asked for by the client; on several: carried
 *                      from one to the other (carry.c)
 *    0      -          lost with the device: the version fails when it is next used
 *
 * Only jobs and transfers move values, and each belongs to one client, whose runs
 * on one device are done in order.  Who writes a storage in place waits until nobody uses
 * its mirrors on other devices, which are dropped when that is done.  Loop thread only. */
#ifndef BRAZE_DEVICE_H
#define BRAZE_DEVICE_H

#include "../trace/trace.h"
#include "executor.h"

struct brazed;

enum device_state {
	DEVICE_STARTING, /* its worker has not said hello */
	DEVICE_USABLE,
	DEVICE_UNUSABLE /* text tells why */
};

struct device {
	char name[16]; /* "cpu", "cuda:0" */
	uint8_t index; /* 0: the CPU */
	uint8_t state; /* enum device_state */
	bool exports;  /* other processes may have its memory */
	bool fourier;  /* it has a library of Fourier transforms */
	bool factors;  /* it has a library of factors of matrices */
	uint32_t arch; /* its code (contract/backend.h); 0: the processor's */
	uint32_t units;
	uint32_t double_ratio;
	uint64_t memory_rate; /* bytes a second; 0: unknown */
	struct brazed *brazed;
	struct executor *executor;
	uint64_t capacity, used; /* bytes of mirrors; 0 on the CPU */
	struct mirror *newest, *oldest;
	uint64_t spills, fetches, lost; /* mirrors that had to go, were read, went down */
	/* Other GPUs, by their numbers in the driver: a bit for each whose memory this one can
	 * read; and by their index here, what copies from there have shown. */
	uint64_t peers;
	struct device_peer {
		uint64_t carried, carried_bytes; /* values that came from there */
		uint32_t refused;		 /* in a row */
		double bytes_us;		 /* measured; 0: not yet */
	} peer[LIMIT_DEVICES];
	uint32_t next_region;
	/* Of a user's own (isolate.c): the device by the same name that all share, the list that it
	 * is in, and whose it is.  Of that one: bytes of mirrors on all users' own. */
	struct device *root, **owns, *next_own;
	uint32_t uid;
	bool ending;
	uint64_t left_ms; /* when its user had no session any more; 0: he has */
	uint64_t used_own;
	char model[64], uuid[48];
	char text[LIMIT_ERROR_TEXT];
};

struct mirror {
	struct mirror *newer, *older;
	struct mirror *other; /* of the same storage, on another device */
	struct device *device;
	struct storage *storage;
	struct trace *trace;
	uint64_t bytes, client;
	uint32_t region;
	uint32_t users;	  /* jobs and transfers bound to it */
	uint8_t valid;	  /* it has the value (when its version is stored) */
	uint8_t arriving; /* a job in flight carries it there */
	uint8_t stuck;	  /* it is only here, and its arena had no room for it just now */
};

/* The storage's mirror on this device; NULL: it has none. */
struct mirror *mirror_on(const struct storage *s, const struct device *d);
/* One that has the value; NULL: none has. */
struct mirror *mirror_source(const struct storage *s);
/* The value has changed elsewhere: none but this one has it any more (NULL: none at all).  Those
 * that nobody uses go. */
void mirror_outdate(struct storage *s, const struct mirror *but);
/* Is one on another device than this in use? */
bool mirror_busy_elsewhere(const struct storage *s, const struct device *d);
/* A mirror of the storage on this device, the existing one or a new, empty one; it
 * becomes the most recently used and counts one more user.  NULL: no room now;
 * device_make_room first. */
struct mirror *mirror_use(struct device *d, struct trace *t, struct storage *s, uint64_t client);
/* One user less.  Without users, a mirror that has no value goes unless the host has it. */
void mirror_release(struct mirror *m);
/* Free it; its storage forgets it. */
void mirror_drop(struct mirror *m);
/* Let go of a client's copies here of what the host has as well and no job uses; bytes. */
uint64_t device_drop_copies(struct device *d, uint64_t client);
/* It takes so much of its device's memory: what others may have comes in whole granules. */
void mirror_resize(struct mirror *m, uint64_t bytes);
struct command_place mirror_place(const struct mirror *m);

enum device_room {
	ROOM_YES,
	ROOM_LATER, /* *victim must be fetched to the host first; NULL: a job must end */
	ROOM_NEVER
};
/* Are these bytes free beside what is in use?  Drops what the host has as well; leaves
 * what is stuck. */
enum device_room device_make_room(struct device *d, uint64_t bytes, struct mirror **victim);
void device_lost(struct device *d); /* the worker died: every mirror is gone */
/* Its number in the driver, "cuda:N"; -1: it has none. */
int device_ordinal(const struct device *d);
/* Bytes from which on a value goes from device to device; less is sooner by way of the host. */
uint64_t device_carried_from(void);
/* Can values go from there to here without the host? */
bool device_reaches(const struct device *to, const struct device *from);
/* What copies from there to here have shown, by any user's worker. */
struct device_peer *device_peer(struct device *to, const struct device *from);
/* A number for a region of the device's worker. */
uint32_t device_region_number(struct device *d);

#endif
