/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/who.c - what operators are told of this program: its name, file, job and environment. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "who.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "wire.h"

static const char *nonempty(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

const char *who_name(const char *given)
{
	const char *name = nonempty("BRAZE_NAME");

	return given ? given : name ? name : program_invocation_short_name;
}

/* Which of a parallel program's processes this is, by what its launcher set; "" for one alone. */
static void find_rank(char *buf, size_t n)
{
	static const char *const launchers[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
						   {"PMI_RANK", "PMI_SIZE"},
						   {"SLURM_PROCID", "SLURM_NTASKS"}};

	*buf = 0;
	for (size_t i = 0; i < sizeof launchers / sizeof launchers[0] && !*buf; i++) {
		const char *rank = nonempty(launchers[i][0]), *size = nonempty(launchers[i][1]);
		if (rank && size && strcmp(size, "1"))
			snprintf(buf, n, "rank %s of %s", rank, size);
	}
}

/* The batch system's number for what runs here, with the system's name, and the rank in it. */
static void find_job(char *buf, size_t n)
{
	static const char *const systems[][2] = {
		{"slurm", "SLURM_JOB_ID"}, {"pbs", "PBS_JOBID"}, {"lsf", "LSB_JOBID"}};

	char rank[64];

	*buf = 0;
	for (size_t i = 0; i < sizeof systems / sizeof systems[0] && !*buf; i++)
		if (nonempty(systems[i][1]))
			snprintf(buf, n, "%s %s", systems[i][0], nonempty(systems[i][1]));
	find_rank(rank, sizeof(rank));
	if (*rank) {
		size_t used = strlen(buf);
		snprintf(buf + used, n - used, "%s%s", used ? " " : "", rank);
	}
}

static const char *find_environment(void)
{
	const char *venv = nonempty("VIRTUAL_ENV"), *conda = nonempty("CONDA_DEFAULT_ENV");

	return venv ? venv : conda ? conda : "";
}

/* The end of what is too long for a packet: the daemon keeps no more of it. */
static char *bounded(const char *s)
{
	size_t n = strlen(s);

	return (char *)(n < LIMIT_SESSION_TEXT ? s : s + n - LIMIT_SESSION_TEXT);
}

/* A name's beginning says more.  buf: LIMIT_SESSION_TEXT bytes. */
static char *begun(char *buf, const char *s)
{
	snprintf(buf, LIMIT_SESSION_TEXT, "%s", s);
	return buf;
}

enum status who_tell(struct braze_session *s, struct err *err)
{
	Braze__Wire__Request r = BRAZE__WIRE__REQUEST__INIT;
	Braze__Wire__About about = BRAZE__WIRE__ABOUT__INIT;
	char name[LIMIT_SESSION_TEXT], program[LIMIT_SESSION_TEXT], job[LIMIT_SESSION_TEXT];

	if (s->minor < MINOR_ABOUT)
		return OK;
	find_job(job, sizeof(job));
	about.name = begun(name, who_name(s->name));
	about.program = begun(program, program_invocation_short_name);
	about.job = job;
	about.file = bounded(s->file ? s->file : "");
	about.environment = bounded(s->environment ? s->environment : find_environment());
	r.about = &about;
	return wire_send(s, &r, err);
}

int braze_session_name(braze_session *s, const char *name, braze_error *error)
{
	struct err *err = err_of(error);
	enum status st = OK;

	lock_take(s);
	char *copy = name && *name ? strdup(name) : NULL;
	if (name && *name && !copy) {
		st = err_set(err, E_NOMEM, "no memory for a session's name");
	} else {
		free(s->name);
		s->name = copy;
		/* A connection that ended is told when there is another. */
		if (!atomic_load(&s->state))
			st = who_tell(s, err);
	}
	lock_give(s);
	return (int)st;
}
