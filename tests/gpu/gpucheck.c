/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/gpucheck.c - braze-gpucheck: does braze work on the GPU of this machine, and how
 * fast?
 *
 * In:  options (usage below), a GPU or what stands for one, brazed beside this program.
 * Out: TAP on stdout, JSON with --json; exit status 0 when something was checked and
 *      nothing failed. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"
#include "tap.h"

enum {
	SECTION_DEVICE = 1,
	SECTION_OPS = 2,
	SECTION_RANDOM = 4,
	SECTION_FAULTS = 8,
	SECTION_BENCH = 16,
	SECTION_LARGE = 32,
	SECTION_SOAK = 64,
	SECTION_FOURIER = 128,
	SECTION_SPARSE = 1024,
	SECTION_KERNELS = 256, /* of bench */
	SECTION_SOLVER = 512,
	SECTION_CHECKS = SECTION_DEVICE | SECTION_OPS | SECTION_FOURIER | SECTION_SOLVER |
			 SECTION_SPARSE | SECTION_RANDOM | SECTION_LARGE | SECTION_FAULTS,
	SECTION_ALL = SECTION_CHECKS | SECTION_SOAK | SECTION_BENCH | SECTION_KERNELS
};

static const struct {
	const char *name;
	unsigned bit;
} sections[] = {{"device", SECTION_DEVICE},   {"ops", SECTION_OPS},
		{"fourier", SECTION_FOURIER}, {"solver", SECTION_SOLVER},
		{"sparse", SECTION_SPARSE},   {"random", SECTION_RANDOM},
		{"large", SECTION_LARGE},     {"soak", SECTION_SOAK},
		{"faults", SECTION_FAULTS},   {"bench", SECTION_BENCH | SECTION_KERNELS},
		{"kernels", SECTION_KERNELS}, {"all", SECTION_ALL}};

static void usage(FILE *out)
{
	fputs("usage: braze-gpucheck [options]\n"
	      "  --section NAME   device, ops, fourier, solver, sparse, random, large, soak, "
	      "faults, "
	      "bench,\n"
	      "                   kernels (of bench) or all; may be repeated\n"
	      "  --all            every section; without any: all but soak and bench\n"
	      "  --quick          fewer and smaller cases\n"
	      "  --seed N         of operands and random programs (1)\n"
	      "  --programs N     random programs\n"
	      "  --part K/N       of ops, fourier and random the Kth of N parts, for several at "
	      "once\n"
	      "  --minutes N      of soak (2)\n"
	      "  --device NAME    cuda:N (cuda:0)\n"
	      "  --cache FOLDER   compiled kernels are taken from here and kept (absolute path)\n"
	      "  --json FILE      results and figures as JSON too\n"
	      "The daemon is BRAZE_DAEMON, or brazed beside this program. BRAZE_LIBCUDA,\n"
	      "BRAZE_NVRTC, BRAZE_LIBCUBLAS, BRAZE_LIBCUFFT, BRAZE_LIBCUSOLVER, BRAZE_LIBCUSPARSE "
	      "name\nlibraries, BRAZE_CUDA_PATHS folders of them.\n",
	      out);
}

struct command_line {
	struct options options;
	unsigned sections;
	const char *json;
};

static bool add_section(struct command_line *c, const char *name)
{
	for (unsigned i = 0; i < sizeof sections / sizeof *sections; i++)
		if (!strcmp(name, sections[i].name)) {
			c->sections |= sections[i].bit;
			return true;
		}
	fprintf(stderr, "braze-gpucheck: there is no section %s\n", name);
	return false;
}

/* "2/8" is the second of eight. */
static bool set_part(struct options *o, const char *text)
{
	if (sscanf(text, "%u/%u", &o->part, &o->parts) == 2 && o->part >= 1 &&
	    o->part <= o->parts) {
		o->part--;
		return true;
	}
	fprintf(stderr, "braze-gpucheck: a part is K/N with 1 <= K <= N, not %s\n", text);
	return false;
}

static bool parse(struct command_line *c, int argc, char **argv)
{
	static const struct option longs[] = {{"section", required_argument, NULL, 's'},
					      {"all", no_argument, NULL, 'a'},
					      {"quick", no_argument, NULL, 'q'},
					      {"seed", required_argument, NULL, 'r'},
					      {"programs", required_argument, NULL, 'p'},
					      {"minutes", required_argument, NULL, 'm'},
					      {"part", required_argument, NULL, 'n'},
					      {"device", required_argument, NULL, 'd'},
					      {"json", required_argument, NULL, 'j'},
					      {"cache", required_argument, NULL, 'c'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	int at;

	while ((at = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (at) {
		case 's':
			if (!add_section(c, optarg))
				return false;
			break;
		case 'a':
			c->sections = SECTION_ALL;
			break;
		case 'q':
			c->options.quick = true;
			break;
		case 'r':
			c->options.seed = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			c->options.programs = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 'm':
			c->options.minutes = strtod(optarg, NULL);
			break;
		case 'n':
			if (!set_part(&c->options, optarg))
				return false;
			break;
		case 'd':
			c->options.device = optarg;
			break;
		case 'c':
			c->options.cache = optarg;
			break;
		case 'j':
			c->json = optarg;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			return false;
		}
	}
	return optind == argc;
}

/* Without a device there is one failure, not one for each check. */
static enum status usable(const struct host *h, struct err *err)
{
	struct host_device d = host_device(h, h->device);

	if (d.there && !strcmp(d.state, "usable"))
		return OK;
	return err_set(err, E_DEVICE, "%s: %.200s", h->device, *d.text ? d.text : d.state);
}

/* The sections that talk to one daemon. */
static enum status serve(struct host *h, const struct command_line *c, struct err *err)
{
	struct both b = {.host = h,
			 .quick = c->options.quick,
			 .seed = c->options.seed,
			 .part = c->options.part,
			 .parts = c->options.parts};
	enum status st = host_start(h, err);

	if (!st)
		st = host_connect(h, &b.session, "braze-gpucheck", err);
	if (st)
		return st;
	if (c->sections & SECTION_DEVICE)
		check_device(h);
	st = usable(h, err);
	if (st) {
		braze_close(b.session);
		return st;
	}
	if (c->sections & SECTION_OPS) {
		check_ops(&b);
		check_shapes(&b);
		check_library(&b);
	}
	if (c->sections & SECTION_FOURIER)
		check_fourier(&b);
	if (c->sections & SECTION_SOLVER)
		check_solver(&b);
	if (c->sections & SECTION_SPARSE)
		check_sparse(&b);
	if (c->sections & SECTION_RANDOM)
		check_random(&b, c->options.programs);
	if (c->sections & SECTION_LARGE)
		check_large(&b);
	if (c->sections & SECTION_SOAK)
		check_soak(&b, c->options.minutes);
	if (b.checks)
		tap_note("%u programs on both devices; refused by both: %u, fallback: %u, worst "
			 "distance %.3g ulp",
			 b.checks, b.refused, b.fallbacks, b.worst);
	tap_figure("checks", "fallbacks", b.fallbacks, "programs");
	if (c->sections & SECTION_BENCH) {
		bench_trace(&b);
		bench_products(&b);
		bench_sparse(&b);
	}
	braze_close(b.session);
	return OK;
}

static void run(const struct command_line *c)
{
	struct host h;
	struct err err = {0};
	enum status st = host_create(&h, c->options.device, c->options.cache, &err);

	if (!st)
		st = serve(&h, c, &err);
	if (st) {
		tap_result(false, "a daemon of our own with a usable device: %s", err.text);
		host_tell_log(&h, 20);
	}
	host_finish(&h);
	if (!st && c->sections & SECTION_DEVICE)
		check_probes(&c->options);
	if (!st && c->sections & SECTION_FAULTS)
		check_faults(&c->options);
	if (!st && c->sections & SECTION_BENCH)
		bench_driver(&c->options);
	if (!st && c->sections & SECTION_KERNELS)
		bench_kernels(&c->options);
}

int main(int argc, char **argv)
{
	struct command_line c = {.options = {.seed = 1, .device = "cuda:0"}};

	if (!parse(&c, argc, argv)) {
		usage(stderr);
		return 2;
	}
	if (!c.sections)
		c.sections = SECTION_CHECKS;
	tap_begin();
	run(&c);
	return tap_end(c.json);
}
