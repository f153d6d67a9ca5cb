/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_graph.c - volleys that come again, replayed as graphs.
 *
 * A volley is known by its functions, grids and blocks, in their order, and by which steps
 * follow which.  The first time it is launched kernel by kernel; the second time a graph
 * is made of it, whose edges are those; from then on only parameters that differ are set
 * before it is launched whole.  A graph holds its kernels, so that no function of another module
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
	uint32_t aim; /* its step's number in the volley */
	CUgraphNode node;
	char *block; /* the parameter that is set */
};

struct cuda_graph {
	struct cuda_graph *next;
	uint64_t hash;
	bool refused; /* it could not be made */
	CUgraph graph;
	CUgraphExec exec; /* NULL: seen once */
	uint32_t n, nstep;
	struct cuda_order_set *after; /* [nstep] */
	struct node node[];
};

static uint64_t hash_of(const struct cuda_volley *v)
{
	uint64_t hash = v->n;

	for (uint32_t i = 0; i < v->n; i++) {
		uint64_t fact[4] = {(uintptr_t)v->shot[i].function, v->shot[i].grid,
				    v->shot[i].threads,
				    (uint64_t)v->shot[i].aim << 32 | v->shot[i].bytes};

		hash = hash_bytes(fact, sizeof fact, hash);
	}
	for (uint32_t i = 0; i < v->order.n; i++)
		hash = hash_bytes(&v->order.step[i].after, sizeof v->order.step[i].after, hash);
	return hash;
}

static bool matches(const struct cuda_graph *g, uint64_t hash, const struct cuda_volley *v)
{
	if (g->hash != hash || g->n != v->n || g->nstep != v->order.n)
		return false;
	for (uint32_t i = 0; i < g->n; i++) {
		if (g->node[i].function != v->shot[i].function ||
		    g->node[i].grid != v->shot[i].grid ||
		    g->node[i].threads != v->shot[i].threads ||
		    g->node[i].bytes != v->shot[i].bytes || g->node[i].aim != v->shot[i].aim)
			return false;
	}
	for (uint32_t i = 0; i < g->nstep; i++) {
		if (memcmp(&g->after[i], &v->order.step[i].after, sizeof g->after[i]) != 0)
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
	free(g->after);
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
	g->nstep = v->order.n;
	g->after = xcalloc(g->nstep, sizeof *g->after);
	for (uint32_t i = 0; i < g->nstep; i++)
		g->after[i] = v->order.step[i].after;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct cuda_shot *s = &v->shot[i];

		g->node[i] = (struct node){.function = s->function,
					   .kernel = s->kernel,
					   .grid = s->grid,
					   .threads = s->threads,
					   .bytes = s->bytes,
					   .aim = s->aim};
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

/* What node i comes after: its step's launch before it, or the last launches of the
 * steps that its step follows. */
static size_t edges(CUgraphNode out[CUDA_VOLLEY], const struct cuda_graph *g, uint32_t i)
{
	const struct node *n = &g->node[i];
	size_t count = 0;

	if (i && g->node[i - 1].aim == n->aim) {
		out[0] = g->node[i - 1].node;
		return 1;
	}
	for (uint32_t k = 0; k < i; k++) {
		if (cuda_order_has(&g->after[n->aim], g->node[k].aim) &&
		    g->node[k].aim != g->node[k + 1].aim)
			out[count++] = g->node[k].node;
	}
	return count;
}

/* The graph, with the parameters of this volley. */
static enum status make(struct cuda_lane *l, struct cuda_graph *g, struct err *err)
{
	struct cuda *c = l->c;
	enum status st = cuda_context_check(c, c->api.cuGraphCreate(&g->graph, 0), err, "a graph");

	for (uint32_t i = 0; i < g->n && st == OK; i++) {
		struct node *n = &g->node[i];
		CUDA_KERNEL_NODE_PARAMS p;
		CUgraphNode after[CUDA_VOLLEY];
		size_t nafter = edges(after, g, i);
		void *params[1];

		n->block = xmalloc(n->bytes);
		memcpy(n->block, l->volley.blocks + l->volley.shot[i].at, n->bytes);
		p = params_of(n, params);
		st = cuda_context_check(c,
					c->api.cuGraphAddKernelNode_v2(&n->node, g->graph,
								       nafter ? after : NULL,
								       nafter, &p),
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
	if (!l->c->api.graphs || l->volley.n < CUDA_GRAPH_LEAST || run->alone)
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
	run->told[l->volley.shot[0].step].several = l->volley.order.n > 1;
	if (st == OK)
		st = cuda_issue_mark(run, l->volley.shot[0].step, false, err);
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
