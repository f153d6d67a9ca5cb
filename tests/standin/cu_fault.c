/* SPDX-License-Identifier: Apache-2.0 */
/* cu_fault.c - configuration and errors on order.
 *
 * In: BRAZE_STANDIN="key=value,..." and, with control=PATH, a file of the same text
 * that is read again whenever it changes.  Out: cu_config, and for each call of the
 * API whether it is to fail.  docs/standin.md lists the keys. */
#include "cu.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_RULES 64

enum effect { EFFECT_FAIL, EFFECT_FAULT, EFFECT_HANG, EFFECT_SKIP };

/* The nth call of function, counted from when the rule was read. */
struct rule {
	enum effect effect;
	char function[64];
	unsigned nth, seen;
	int error;
};

struct cu_config cu_config = {.vram = 8ull << 30,
			      .oom_after = -1,
			      .major = 9,
			      .devices = 1,
			      .sms = 4,
			      .threads = 2,
			      .khz = 1000000,
			      .driver = 13000,
			      .race = true,
			      .stale = true,
			      .memory_gbs = 1000,
			      .link_gbs = 10,
			      .peer_gbs = 50,
			      .launch_us = 4,
			      .slow = 1};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[MAX_RULES];
static unsigned nrules;
static unsigned only; /* the process that the file's rules are for; 0: any */
static FILE *log_file;
static char control[512];
static struct timespec control_time;
static _Thread_local struct cu_injected pending;

void cu_log(const char *fmt, ...)
{
	FILE *to = log_file ? log_file : stderr;
	va_list args;

	flockfile(to);
	fputs("standin: ", to);
	va_start(args, fmt);
	vfprintf(to, fmt, args);
	va_end(args);
	fputc('\n', to);
	fflush(to);
	funlockfile(to);
}

/* 8G, 512M, 4096 */
static uint64_t size_of(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	switch (*end) {
	case 'K':
		return (uint64_t)(v * 1024);
	case 'M':
		return (uint64_t)(v * 1048576);
	case 'G':
		return (uint64_t)(v * 1073741824);
	default:
		return strtoull(text, NULL, 0);
	}
}

/* cuLaunchKernel:2:700 */
static bool add_rule(enum effect effect, const char *text)
{
	struct rule r = {.effect = effect, .nth = 1};
	int n = sscanf(text, "%63[^:]:%u:%d", r.function, &r.nth, &r.error);

	if (nrules == MAX_RULES || n < 1 || (effect < EFFECT_HANG && n < 3))
		return false;
	rules[nrules++] = r;
	return true;
}

static bool set_rule(const char *key, const char *value)
{
	if (!strcmp(key, "fail"))
		return add_rule(EFFECT_FAIL, value);
	if (!strcmp(key, "fault"))
		return add_rule(EFFECT_FAULT, value);
	if (!strcmp(key, "skip"))
		return add_rule(EFFECT_SKIP, value);
	return !strcmp(key, "hang") && add_rule(EFFECT_HANG, value);
}

static bool set_number(const char *key, const char *value)
{
	struct cu_config *c = &cu_config;
	const struct {
		const char *key;
		unsigned *to;
	} numbers[] = {
		{"devices", &c->devices},   {"pid", &only},	      {"sms", &c->sms},
		{"seed", &c->seed},	    {"threads", &c->threads}, {"khz", &c->khz},
		{"pageable", &c->pageable}, {"driver", &c->driver},   {"slices", &c->slices},
	};
	for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
		if (!strcmp(key, numbers[k].key)) {
			*numbers[k].to = (unsigned)strtoul(value, NULL, 0);
			return true;
		}
	return false;
}

/* Of the modelled clock. */
static bool set_real(const char *key, const char *value)
{
	struct cu_config *c = &cu_config;
	const struct {
		const char *key;
		double *to;
	} reals[] = {{"memory_gbs", &c->memory_gbs},
		     {"link_gbs", &c->link_gbs},
		     {"peer_gbs", &c->peer_gbs},
		     {"launch_us", &c->launch_us},
		     {"slow", &c->slow}};

	for (size_t k = 0; k < sizeof(reals) / sizeof(reals[0]); k++)
		if (!strcmp(key, reals[k].key)) {
			double v = strtod(value, NULL);

			if (v > 0)
				*reals[k].to = v;
			return v > 0;
		}
	return false;
}

/* 0:1, neither reaches the other; "": all do. */
static bool set_apart(const char *value)
{
	unsigned a = 0, b = 0;

	if (!*value) {
		memset(cu_config.apart, 0, sizeof(cu_config.apart));
		return true;
	}
	if (sscanf(value, "%u:%u", &a, &b) != 2 || a >= CU_MAX_DEVICES || b >= CU_MAX_DEVICES)
		return false;
	cu_config.apart[a] |= 1ull << b;
	cu_config.apart[b] |= 1ull << a;
	return true;
}

static bool set_switch(const char *key, const char *value)
{
	struct cu_config *c = &cu_config;

	if (!strcmp(key, "race"))
		c->race = strtol(value, NULL, 0) != 0;
	else if (!strcmp(key, "stale"))
		c->stale = strtol(value, NULL, 0) != 0;
	else if (!strcmp(key, "twins"))
		c->twins = strtol(value, NULL, 0) != 0;
	else if (!strcmp(key, "hold"))
		c->hold = strtol(value, NULL, 0) != 0;
	else if (!strcmp(key, "apart"))
		return set_apart(value);
	else if (!strcmp(key, "clock"))
		c->modelled = !strcmp(value, "model");
	else
		return false;
	return true;
}

static bool set(const char *key, const char *value)
{
	struct cu_config *c = &cu_config;

	if (!strcmp(key, "vram"))
		c->vram = size_of(value);
	else if (!strcmp(key, "cc"))
		return sscanf(value, "%u.%u", &c->major, &c->minor) == 2;
	else if (!strcmp(key, "oom_after"))
		c->oom_after = strtoll(value, NULL, 0) < 0 ? -1 : (int64_t)size_of(value);
	else if (!strcmp(key, "delay_us"))
		c->delay_us = strtol(value, NULL, 0);
	else if (!strcmp(key, "max_instr"))
		c->max_instructions = strtoull(value, NULL, 0);
	else if (!strcmp(key, "log"))
		log_file = log_file ? log_file : fopen(value, "ae");
	else if (!strcmp(key, "count"))
		cu_count_setup(value);
	else if (!strcmp(key, "control"))
		snprintf(control, sizeof(control), "%s", value);
	else
		return !strcmp(key, "missing") || set_number(key, value) || set_real(key, value) ||
		       set_switch(key, value) || set_rule(key, value);
	return true;
}

static void parse(char *text)
{
	char *rest = NULL;

	for (char *t = strtok_r(text, ", \t\n", &rest); t; t = strtok_r(NULL, ", \t\n", &rest)) {
		char *value = strchr(t, '=');

		if (value)
			*value++ = 0;
		if (!value || !set(t, value))
			cu_log("BRAZE_STANDIN: '%s%s%s' is not understood", t, value ? "=" : "",
			       value ? value : "");
	}
	if (cu_config.devices > CU_MAX_DEVICES)
		cu_config.devices = CU_MAX_DEVICES;
	if (cu_config.slices > CU_MAX_DEVICES)
		cu_config.slices = CU_MAX_DEVICES;
	if (!cu_config.sms)
		cu_config.sms = 1;
}

/* The file's rules replace all rules; its other keys stay set. */
static void read_control(void)
{
	struct stat st;
	char text[8192];

	if (!control[0] || stat(control, &st) ||
	    (st.st_mtim.tv_sec == control_time.tv_sec &&
	     st.st_mtim.tv_nsec == control_time.tv_nsec))
		return;
	control_time = st.st_mtim;
	FILE *f = fopen(control, "re");
	if (!f)
		return;
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	nrules = 0;
	only = 0;
	parse(text);
	if (only && only != (unsigned)getpid())
		nrules = 0;
}

void cu_fault_setup(void)
{
	static bool done;
	const char *text = getenv("BRAZE_STANDIN");
	char *copy = NULL;

	pthread_mutex_lock(&lock);
	if (!done && text && (copy = strdup(text)) != NULL) {
		parse(copy);
		cu_device_slice();
	}
	done = true;
	free(copy);
	pthread_mutex_unlock(&lock);
}

/* cuMemAlloc names cuMemAlloc_v2 too. */
static bool same_function(const char *rule, const char *function)
{
	size_t n = strlen(rule);

	return !strncmp(rule, function, n) && (!function[n] || !strcmp(function + n, "_v2"));
}

CUresult cu_enter(const char *function)
{
	int error = CUDA_SUCCESS;

	pending = (struct cu_injected){.hang = false};
	pthread_mutex_lock(&lock);
	read_control();
	for (unsigned k = 0; k < nrules; k++) {
		struct rule *r = &rules[k];

		if (!same_function(r->function, function) || ++r->seen != r->nth)
			continue;
		if (r->effect == EFFECT_FAIL)
			error = r->error;
		else if (r->effect == EFFECT_FAULT)
			pending.fault = r->error;
		else if (r->effect == EFFECT_SKIP)
			pending.skip = true;
		else
			pending.hang = true;
	}
	pthread_mutex_unlock(&lock);
	if (*function)
		cu_count(function, 1);
	if (error)
		cu_log("%s: injected error %d", function, error);
	return (CUresult)error;
}

struct cu_injected cu_take_injected(void)
{
	struct cu_injected taken = pending;

	pending = (struct cu_injected){.hang = false};
	return taken;
}
