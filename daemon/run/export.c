/* SPDX-License-Identifier: Apache-2.0 */
/* run/export.c - memory of a device that other processes get by a descriptor.
 *
 * An answer comes for every question, at the latest from the worker's end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "executor_impl.h"

bool export_ask(struct executor *x, uint32_t region, executor_exported_fn *done, void *data)
{
	struct command c = {.kind = CMD_DEVICE_EXPORT,
			    .bytes = sizeof c,
			    .ticket = ++x->exported,
			    .id = region};
	struct exporting *e = NULL;

	if (x->pid < 0)
		return false;
	e = xcalloc(1, sizeof *e);
	*e = (struct exporting){x->exporting, c.ticket, done, data};
	x->exporting = e;
	/* At once: it would wait for a packet that nobody sends. */
	spawn_send(x, &c, sizeof c, -1);
	return true;
}

void export_answered(struct executor *x, const struct command_export *answer)
{
	struct exporting **at = &x->exporting, *e = NULL;
	struct err err = {.code = (enum status)answer->status};
	int fd = x->came;

	x->came = -1;
	while (*at && (*at)->number != answer->head.ticket)
		at = &(*at)->next;
	e = *at;
	if (answer->status >= STATUS_END || (answer->status == OK) != (fd >= 0)) {
		err.code = E_INTERNAL;
		snprintf(err.text, sizeof err.text, "the worker sent memory without a descriptor");
	} else {
		memcpy(err.text, answer->text, sizeof err.text);
		err.text[sizeof err.text - 1] = 0;
	}
	if (!e || err.code != OK) {
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (!e)
		return;
	*at = e->next;
	e->done(e->data, fd, answer->head.arg, &err);
	free(e);
}

void export_all(struct executor *x)
{
	struct err err;

	err_set(&err, E_LOST, "lost: the worker of %s died before it gave the memory on",
		x->device);
	while (x->exporting) {
		struct exporting *e = x->exporting;

		x->exporting = e->next;
		e->done(e->data, -1, 0, &err);
		free(e);
	}
}
