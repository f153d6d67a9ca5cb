/* SPDX-License-Identifier: Apache-2.0 */
/* worker/cuda_graph.c - volleys that come again, replayed as graphs.
 *
 * A volley is known by its functions, grids and blocks, in their order.  The first time it is
 * launched kernel by kernel; the second time a graph is made of it, a chain of the
 * same launches; from then on only parameters that differ are set before it is
 * launched whole.  A graph holds its kernels, so that no function of another module
 * can take their place.  A lane keeps the GRAPHS_MAX used last. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cuda_worker.h"

#define GRAPHS_MAX 32

struct node {
	CUfunction function;
	struct cuda_kernel *kernel; /* held */
	uint32_t grid, threads, bytes;
	CUgraphNode node;
	char *block; /* the parameter that is set */
};

struct cuda_graph {
	struct cuda_graph *next;
	uint64_t hash;
	bool refused; /* it could not be made */
	CUgraph graph;
	CUgraphExec exec; /* NULL: seen once */
	uint32_t n;
	struct node node[];
};

static uint64_t hash_of(const struct cuda_volley *v)
{
	uint64_t hash = v->n;

	for (uint32_t i = 0; i < v->n; i++) {
		uint64_t fact[4] = {(uintptr_t)v->shot[i].function, v->shot[i].grid,
				    v->shot[i].threads, v->shot[i].bytes};

		hash = hash_bytes(fact, sizeof fact, hash);
	}
	return hash;
}

static bool matches(const struct cuda_graph *g, uint64_t hash, const struct cuda_volley *v)
{
	if (g->hash != hash || g->n != v->n)
		return false;
	for (uint32_t i = 0; i < g->n; i++) {
		if (g->node[i].function != v->shot[i].function ||
		    g->node[i].grid != v->shot[i].grid ||
		    g->node[i].threads != v->shot[i].threads ||
		    g->node[i].bytes != v->shot[i].bytes)
			return false;
	}
	return true;
}

static void graph_free(struct cuda *c, struct cuda_graph *g)
{
	if (g->exec)
		cuda_context_expect(c, c->api.cuGraphExecDestroy(g->exec), "a graph");
	if (g->graph)
		cuda_context_expect(c, c->api.cuGraphDestroy(g->graph), "a graph");
	for (uint32_t i = 0; i < g->n; i++) {
		cuda_code_unref(g->node[i].kernel);
		free(g->node[i].block);
	}
	free(g);
}

/* The volley's graph, moved to the front; NULL: it was not seen yet. */
static struct cuda_graph *find(struct cuda_lane *l, uint64_t hash)
{
	struct cuda_graph **at = &l->graphs, *g = NULL;

	while (*at && !matches(*at, hash, &l->volley))
		at = &(*at)->next;
	g = *at;
	if (g) {
		*at = g->next;
		g->next = l->graphs;
		l->graphs = g;
	}
	return g;
}

static void note(struct cuda_lane *l, uint64_t hash)
{
	const struct cuda_volley *v = &l->volley;
	struct cuda_graph *g = xcalloc(1, sizeof *g + v->n * sizeof g->node[0]);
	struct cuda_graph **at = &l->graphs;

	g->hash = hash;
	g->n = v->n;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct cuda_shot *s = &v->shot[i];

		g->node[i] = (struct node){.function = s->function,
					   .kernel = s->kernel,
					   .grid = s->grid,
					   .threads = s->threads,
					   .bytes = s->bytes};
		cuda_code_ref(s->kernel);
	}
	g->next = l->graphs;
	l->graphs = g;
	for (int kept = 0; *at && kept < GRAPHS_MAX; kept++)
		at = &(*at)->next;
	if (*at) {
		/* Its last launch may still run. */
		cuda_context_expect(l->c, l->c->api.cuStreamSynchronize(l->stream),
				    "forgetting a graph");
		graph_free(l->c, *at);
		*at = NULL;
	}
}

static CUDA_KERNEL_NODE_PARAMS params_of(const struct node *n, void **params)
{
	params[0] = n->block;
	return (CUDA_KERNEL_NODE_PARAMS){.func = n->function,
					 .gridDimX = n->grid,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = n->threads,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = params};
}

/* The chain, with the parameters of this volley. */
static enum status make(struct cuda_lane *l, struct cuda_graph *g, struct err *err)
{
	struct cuda *c = l->c;
	enum status st = cuda_context_check(c, c->api.cuGraphCreate(&g->graph, 0), err, "a graph");

	for (uint32_t i = 0; i < g->n && st == OK; i++) {
		struct node *n = &g->node[i];
		CUDA_KERNEL_NODE_PARAMS p;
		void *params[1];

		n->block = xmalloc(n->bytes);
		memcpy(n->block, l->volley.blocks + l->volley.shot[i].at, n->bytes);
		p = params_of(n, params);
		st = cuda_context_check(
			c,
			c->api.cuGraphAddKernelNode_v2(&n->node, g->graph,
						       i ? &g->node[i - 1].node : NULL, i != 0, &p),
			err, "a graph's node");
	}
	if (st == OK)
		st = cuda_context_check(c,
					c->api.cuGraphInstantiateWithFlags(&g->exec, g->graph, 0),
					err, "making a graph of %u launches", g->n);
	return st;
}

static enum status set(struct cuda_lane *l, struct cuda_graph *g, struct err *err)
{
	struct cuda *c = l->c;
	enum status st = OK;

	for (uint32_t i = 0; i < g->n && st == OK; i++) {
		struct node *n = &g->node[i];
		const char *block = l->volley.blocks + l->volley.shot[i].at;
		CUDA_KERNEL_NODE_PARAMS p;
		void *params[1];

		if (memcmp(n->block, block, n->bytes) == 0)
			continue;
		memcpy(n->block, block, n->bytes);
		p = params_of(n, params);
		st = cuda_context_check(
			c, c->api.cuGraphExecKernelNodeSetParams_v2(g->exec, n->node, &p), err,
			"the parameters of a graph");
	}
	return st;
}

enum status cuda_graph_fire(struct cuda_run *run, bool *done, struct err *err)
{
	struct cuda_lane *l = run->lane;
	struct cuda_graph *g = NULL;
	struct err why = {0};
	uint64_t hash = 0;
	enum status st = OK;

	*done = false;
	if (!l->c->api.graphs || l->volley.n < CUDA_GRAPH_LEAST)
		return OK;
	hash = hash_of(&l->volley);
	g = find(l, hash);
	if (!g)
		note(l, hash);
	if (!g || g->refused)
		return OK;
	if (!g->exec && make(l, g, &why) != OK) {
		/* Launched one by one it works as well. */
		log_warn("cuda_graph", "%s", why.text);
		g->refused = true;
		return OK;
	}
	st = set(l, g, err);
	if (st == OK)
		st = cuda_issue_mark(run, l->volley.shot[0].step, err);
	if (st == OK)
		st = cuda_context_check(l->c, l->c->api.cuGraphLaunch(g->exec, l->stream), err,
					"launching a graph of %u launches", g->n);
	*done = true;
	return st;
}

void cuda_graph_finish(struct cuda_lane *l)
{
	while (l->graphs) {
		struct cuda_graph *g = l->graphs;

		l->graphs = g->next;
		graph_free(l->c, g);
	}
}
