/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/host.h - a daemon of braze-gpucheck's own, and what its status pages say.
 *
 * brazed is BRAZE_DAEMON, else the one beside this program (here, or in ../bin).  Its
 * sockets, cache and log lie in a folder of its own, which host_finish removes.  One
 * thread. */
#ifndef GPU_HOST_H
#define GPU_HOST_H

#include <cjson/cJSON.h>
#include <sys/types.h>

#include "braze.h"
#include "ops.h"

#define HOST_PATH     256
#define HOST_SETTINGS 8

struct host {
	pid_t pid; /* 0: it does not run */
	char folder[HOST_PATH];
	char socket[HOST_PATH + 16], status[HOST_PATH + 16], cache[HOST_PATH + 16];
	char device[LIMIT_DEVICE_NAME]; /* the one that is checked */
};

/* One row of /status's devices. */
struct host_device {
	bool there; /* the page has such a row */
	char state[16], model[64], text[LIMIT_ERROR_TEXT];
	unsigned arch, units;
	pid_t worker;
	double deaths, runs, busy, memory, used;
};

/* Make the folder; nothing runs yet.  cache: a folder for compiled kernels, which is kept;
 * NULL: one inside. */
enum status host_create(struct host *h, const char *device, const char *cache,
			struct err *err) MUST_USE;
/* Start the daemon and wait until its device has said what it is. */
enum status host_start(struct host *h, struct err *err) MUST_USE;
void host_stop(struct host *h);
void host_finish(struct host *h);
/* A page of the status socket; NULL: no answer.  cJSON_Delete it. */
cJSON *host_ask(const struct host *h, const char *page);
/* A number of /status, of this group, NULL: of the page itself; -1: it has no such. */
double host_figure(const struct host *h, const char *group, const char *name);
/* The device of this name. */
struct host_device host_device(const struct host *h, const char *name);
enum status host_connect(const struct host *h, braze_session **out, const char *name,
			 struct err *err) MUST_USE;
/* The last lines of the daemon's log, as notes. */
void host_tell_log(const struct host *h, unsigned lines);
double host_seconds(void); /* of a clock that only goes forward */

#endif
