/* SPDX-License-Identifier: Apache-2.0 */
/* cu_graph.c - graphs: operations kept as nodes, made by call or by capture.
 *
 * A node depends on older nodes only.  A launch queues copies of all of them, one after
 * the other, each time the newest of those whose predecessors are queued: so an edge
 * that is missing shows, and cu_race.c knows the edges. */
#include "cu.h"
#include <stdlib.h>
#include <string.h>

struct CUgraphNode_st {
	struct CUgraphNode_st *next;
	struct cu_op *op;
	struct CUgraph_st *graph;
	struct CUgraphNode_st **after;
	size_t nafter;
};

struct CUgraph_st {
	struct CUctx_st *context;
	struct CUgraph_st *next;
	struct CUgraphNode_st *first, *last;
	size_t count;
};

struct CUgraphExec_st {
	struct CUctx_st *context;
	struct CUgraphExec_st *next;
	size_t count;
	struct cu_op **op;
	CUgraphNode *node; /* that each came from; may be gone */
	bool *before;	   /* [b * count + a]: node a comes before node b, by any way */
};

/* One launch of it. */
struct cu_launched {
	unsigned refs;
	size_t count;
	bool before[];
};

struct CUgraph_st *cu_graph_new(struct CUctx_st *c)
{
	struct CUgraph_st *g = cu_alloc(sizeof(*g));

	g->context = c;
	pthread_mutex_lock(&cu_lock);
	g->next = c->graphs;
	c->graphs = g;
	pthread_mutex_unlock(&cu_lock);
	cu_handle_add(CU_GRAPH, g);
	return g;
}

static CUgraphNode add(struct CUgraph_st *g, struct cu_op *op, const CUgraphNode *after,
		       size_t nafter)
{
	struct CUgraphNode_st *n = cu_alloc(sizeof(*n));

	*n = (struct CUgraphNode_st){.op = op, .graph = g, .nafter = nafter};
	n->after = cu_alloc((nafter + 1) * sizeof(*n->after));
	for (size_t k = 0; k < nafter; k++)
		n->after[k] = after[k];
	pthread_mutex_lock(&cu_lock);
	if (g->last)
		g->last->next = n;
	else
		g->first = n;
	g->last = n;
	g->count++;
	pthread_mutex_unlock(&cu_lock);
	return n;
}

void cu_graph_record(struct CUgraph_st *g, struct cu_op *op)
{
	add(g, op, &g->last, g->last != NULL);
}

static void delete_graph(struct CUgraph_st *g)
{
	struct CUgraph_st **at = &g->context->graphs;

	pthread_mutex_lock(&cu_lock);
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	pthread_mutex_unlock(&cu_lock);
	cu_handle_remove(g);
	while (g->first) {
		struct CUgraphNode_st *n = g->first;

		g->first = n->next;
		cu_op_delete(n->op);
		free(n->after);
		free(n);
	}
	free(g);
}

static void delete_exec(struct CUgraphExec_st *e)
{
	struct CUgraphExec_st **at = &e->context->execs;

	pthread_mutex_lock(&cu_lock);
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	pthread_mutex_unlock(&cu_lock);
	cu_handle_remove(e);
	for (size_t k = 0; k < e->count; k++)
		cu_op_delete(e->op[k]);
	free(e->op);
	free(e->node);
	free(e->before);
	free(e);
}

void cu_graph_free_all(struct CUctx_st *c)
{
	while (c->execs)
		delete_exec(c->execs);
	while (c->graphs)
		delete_graph(c->graphs);
}

static CUresult enter_graph(const char *function, CUgraph g)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(function, &c);

	if (error)
		return error;
	return cu_handle_ok(CU_GRAPH, g) && g->context == c ? CUDA_SUCCESS
							    : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphCreate(CUgraph *out, unsigned flags)
{
	struct CUctx_st *c;
	CUresult error = cu_enter_context(__func__, &c);

	if (error)
		return error;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	*out = cu_graph_new(c);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
	CUresult error = enter_graph(__func__, graph);

	if (!error)
		delete_graph(graph);
	return error;
}

static bool own_nodes(CUgraph g, const CUgraphNode *after, size_t nafter)
{
	for (size_t k = 0; k < nafter; k++) {
		struct CUgraphNode_st *n = g->first;

		while (n && n != after[k])
			n = n->next;
		if (!n)
			return false;
	}
	return true;
}

static CUresult kernel_op(const CUDA_KERNEL_NODE_PARAMS *p, struct cu_op **op)
{
	const struct ptx_launch launch = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
					  .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
					  .dynamic_shared = p->sharedMemBytes};

	return cu_launch_make(p->func, &launch, p->kernelParams, p->extra, op);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
				 size_t nafter, const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUresult error = enter_graph(__func__, graph);
	struct cu_op *op = NULL;

	if (!error && !own_nodes(graph, after, nafter))
		error = CUDA_ERROR_INVALID_VALUE;
	if (!error)
		error = kernel_op(params, &op);
	if (!error)
		*out = add(graph, op, after, nafter);
	return error;
}

static bool is_host(int type, const void *host)
{
	return type == CU_MEMORYTYPE_HOST || (type == CU_MEMORYTYPE_UNIFIED && host);
}

/* Only copies of one row: that is what braze makes. */
CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
			      size_t nafter, const CUDA_MEMCPY3D *copy, CUcontext context)
{
	CUresult error = enter_graph(__func__, graph);

	if (error)
		return error;
	if (!own_nodes(graph, after, nafter) || !copy->WidthInBytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (copy->Height > 1 || copy->Depth > 1 || copy->srcY || copy->srcZ || copy->dstY ||
	    copy->dstZ)
		return CUDA_ERROR_NOT_SUPPORTED;
	struct cu_op *op = cu_op_new(OP_COPY_MEMORY);
	op->bytes = copy->WidthInBytes;
	op->from = copy->srcDevice + copy->srcXInBytes;
	op->to = copy->dstDevice + copy->dstXInBytes;
	if (is_host(copy->srcMemoryType, copy->srcHost))
		op->from_host = (const char *)copy->srcHost + copy->srcXInBytes;
	if (is_host(copy->dstMemoryType, copy->dstHost))
		op->to_host = (char *)copy->dstHost + copy->dstXInBytes;
	*out = add(graph, op, after, nafter);
	return CUDA_SUCCESS;
}

/* Everything that comes before node b: its edges, and what comes before those. */
static void close_before(struct CUgraphExec_st *e, size_t b)
{
	const struct CUgraphNode_st *n = e->node[b];
	bool *mine = e->before + b * e->count;

	for (size_t k = 0; k < n->nafter; k++)
		for (size_t a = 0; a < b; a++)
			if (e->node[a] == n->after[k]) {
				mine[a] = true;
				for (size_t c = 0; c < a; c++)
					mine[c] |= e->before[a * e->count + c];
			}
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, uint64_t flags)
{
	CUresult error = enter_graph(__func__, graph);
	size_t k = 0;

	if (error)
		return error;
	struct CUgraphExec_st *e = cu_alloc(sizeof(*e));
	e->context = graph->context;
	e->count = graph->count;
	e->op = cu_alloc(e->count * sizeof(*e->op));
	e->node = cu_alloc(e->count * sizeof(CUgraphNode));
	e->before = cu_alloc(e->count * e->count * sizeof(bool));
	for (struct CUgraphNode_st *n = graph->first; n; n = n->next, k++) {
		e->op[k] = cu_op_clone(n->op);
		e->node[k] = n;
		close_before(e, k);
	}
	pthread_mutex_lock(&cu_lock);
	e->next = e->context->execs;
	e->context->execs = e;
	pthread_mutex_unlock(&cu_lock);
	cu_handle_add(CU_EXEC, e);
	*out = e;
	return CUDA_SUCCESS;
}

static CUresult enter_exec(const char *function, CUgraphExec e, struct CUctx_st **c)
{
	CUresult error = cu_enter_context(function, c);

	if (error)
		return error;
	return cu_handle_ok(CU_EXEC, e) && e->context == *c ? CUDA_SUCCESS
							    : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
					   const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct CUctx_st *c;
	CUresult error = enter_exec(__func__, exec, &c);
	struct cu_op *op;
	size_t k = 0;

	if (error)
		return error;
	while (k < exec->count && exec->node[k] != node)
		k++;
	if (k == exec->count || exec->op[k]->kind != OP_KERNEL)
		return CUDA_ERROR_INVALID_VALUE;
	error = kernel_op(params, &op);
	if (error)
		return error;
	cu_op_delete(exec->op[k]);
	exec->op[k] = op;
	return CUDA_SUCCESS;
}

bool cu_launched_before(const struct cu_launched *l, unsigned a, unsigned b)
{
	return l->before[b * l->count + a];
}

void cu_launched_release(struct cu_launched *l)
{
	if (__atomic_sub_fetch(&l->refs, 1, __ATOMIC_SEQ_CST))
		return;
	cu_race_launched(l);
	free(l);
}

/* The newest node that is not queued and whose predecessors all are. */
static size_t next_node(const struct CUgraphExec_st *e, const bool *queued)
{
	for (size_t k = e->count; k-- > 0;) {
		bool ready = !queued[k];

		for (size_t a = 0; a < k; a++)
			ready &= !e->before[k * e->count + a] || queued[a];
		if (ready)
			return k;
	}
	return e->count;
}

static void queue_nodes(struct CUgraphExec_st *e, struct CUstream_st *s)
{
	size_t n = e->count * e->count * sizeof(bool);
	struct cu_launched *l = cu_alloc(sizeof(*l) + n);
	bool *queued = cu_alloc(e->count * sizeof(bool));

	*l = (struct cu_launched){.refs = 1, .count = e->count};
	memcpy(l->before, e->before, n);
	for (size_t k = next_node(e, queued); k < e->count; k = next_node(e, queued)) {
		struct cu_op *op = cu_op_clone(e->op[k]);

		queued[k] = true;
		op->launched = l;
		op->node = (unsigned)k;
		__atomic_add_fetch(&l->refs, 1, __ATOMIC_SEQ_CST);
		cu_stream_push(s, op);
	}
	cu_launched_release(l);
	free(queued);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct CUctx_st *c;
	struct CUstream_st *s = NULL;
	CUresult error = enter_exec(__func__, exec, &c);

	if (!error)
		error = cu_stream_find(c, stream, &s);
	if (error)
		return error;
	if (s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	queue_nodes(exec, s);
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct CUctx_st *c;
	CUresult error = enter_exec(__func__, exec, &c);

	if (!error)
		delete_exec(exec);
	return error;
}

/* ---- capture ---- */

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode)
{
	struct CUctx_st *c;
	struct CUstream_st *s = NULL;
	CUresult error = cu_enter_context(__func__, &c);

	if (!error)
		error = cu_stream_find(c, stream, &s);
	if (error)
		return error;
	if (s == c->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->capture || mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
	    mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return s->capture ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_VALUE;
	s->capture = cu_graph_new(c);
	return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out)
{
	struct CUctx_st *c;
	struct CUstream_st *s = NULL;
	CUresult error = cu_enter_context(__func__, &c);

	if (!error)
		error = cu_stream_find(c, stream, &s);
	if (error)
		return error;
	if (!s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	*out = s->capture;
	s->capture = NULL;
	return CUDA_SUCCESS;
}
