/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_explain.c - what a call knows of its kernel's loops, before it runs.
 *
 * In:  a kernel, its arguments.  Out: a line for each loop.  The instructions are gone over once,
 * in written order and in the first turn of each loop; what only reads numbers is done on the way,
 * so that bounds and shifts are known, and nothing is loaded or stored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang_fuse.h"
#include "lang_steps.h"
#include "lang_uses.h"

struct look {
	const struct lang_kernel *kernel;
	struct run run;
	bool *known; /* [register] */
	struct lang_loops *loops;
	FILE *out;
	unsigned depth;
	uint32_t end, behind; /* of loops that are one: the jump over what they are apart */
};

static bool all_known(const struct look *l, const struct lang_ins *i)
{
	uint32_t reg;
	unsigned type;

	for (unsigned k = 0; lang_uses(&reg, &type, i, k); k++)
		if (!l->known[reg])
			return false;
	return true;
}

static void tell(struct look *l, uint32_t at, const struct lang_ins *i)
{
	struct lang_nest nest = {.why = NEST_LARGE};
	char why[256] = "its bounds are known only when it runs";
	bool fine = all_known(l, i);

	if (fine)
		fine = lang_nest_of(&nest, l->run.program, l->loops, at, l->run.reg, l->run.array);
	if (fine)
		lang_nest_say(why, sizeof why, l->run.program, &nest);
	fprintf(l->out, "%*sline %u: %s", 2 * (int)l->depth, "", i->line,
		fine && !nest.why ? "parallel" : "sequential");
	if (fine && !nest.why)
		fprintf(l->out, ", %llu turns", (unsigned long long)nest.turns);
	fprintf(l->out, ": %s\n", why);
	l->run.reg[i->d] = l->run.reg[i->a];
	l->known[i->d] = fine;
}

/* Is it more than done once, or is what it makes of memory? */
static bool is_pure(const struct lang_ins *i)
{
	return i->code == CODE_MOVE || i->code == CODE_OP || i->code == CODE_CAST ||
	       i->code == CODE_LENGTH;
}

/* The lines of loops that are apart, from the one that stands at `first` on: all, or that of one.
 */
static void tell_lines(struct look *l, uint32_t first, uint32_t behind, unsigned from, unsigned to)
{
	const struct lang_program *p = l->run.program;

	for (unsigned k = 0; first < behind && k < to; first++) {
		if (p->code[first].code != CODE_RANGE)
			continue;
		if (k >= from)
			fprintf(l->out, "%sline %u", k > from ? ", " : "", p->code[first].line);
		k++;
		first = lang_nest_end(p, first);
	}
}

static const char *apart_since(const struct lang_fusion *f, bool known, bool same)
{
	return !known  ? "their bounds are known only when they run"
	       : !same ? "they have other bounds"
	       : f->fine == f->loops && f->nest.work < LANG_FUSED_LEAST ? "they do too little"
	       : f->fine == f->loops ? "arrays overlap, or turns touch the same bytes"
	       : f->strange	     ? "they go through no array alike"
	       : f->lost	     ? "one may run at once, and together they may not"
	       : f->pair	     ? "turns that touch the same bytes would change their order"
				     : "it is not proven that nothing in them fails";
}

/* Are the loops behind one with these arguments?  Where the ways go on. */
static uint32_t tell_fused(struct look *l, uint32_t at, const struct lang_ins *i)
{
	const struct lang_program *p = l->run.program;
	uint32_t apart = i[1].d, behind = p->code[apart - 1].d;
	bool known = all_known(l, i), same = known && lang_fusion_alike(i, l->run.reg) == i->c;
	bool by_strips = p->code[i->a].op == CLAIM_STRIPS;
	struct lang_fusion f = {.fine = 0};
	unsigned other;

	if (same && !lang_fusion_of(&f, p, l->loops, i, l->run.reg, l->run.array, false))
		f.fine = 0;
	if (by_strips && !(same && lang_fusion_done(&f, i->to)))
		return apart;
	fprintf(l->out, "%*s", 2 * (int)l->depth, "");
	if (same && lang_fusion_done(&f, i->to)) {
		tell_lines(l, apart, behind, 0, 1);
		fputs(by_strips
			      ? ": all its turns for one strip of the loops inside after the other"
			      : ": one loop with ",
		      l->out);
		tell_lines(l, apart, behind, 1, LANG_FUSED);
		fputc('\n', l->out);
		l->end = apart - 1;
		l->behind = behind;
		return at + 2;
	}
	tell_lines(l, apart, behind, 0, 1);
	fputs(": apart from ", l->out);
	other = f.fine && f.fine < f.loops ? f.fine : 1;
	tell_lines(l, apart, behind, other, other + 1);
	fprintf(l->out, ": %s\n", apart_since(&f, known, same));
	return apart;
}

/* The loop is told of as it is written, behind a word of its strips, if they lean. */
static uint32_t tell_leaning(struct look *l, const struct lang_ins *i)
{
	const struct lang_program *p = l->run.program;
	struct lang_fusion f = {.fine = 0};

	if (lang_lean_wanted(l->kernel) && all_known(l, i) &&
	    lang_fusion_of(&f, p, l->loops, i, l->run.reg, l->run.array, false) &&
	    lang_fusion_done(&f, true))
		fprintf(l->out,
			"%*sline %u: some of its turns for one strip of the loops inside after the "
			"other, which lean\n",
			2 * (int)l->depth, "", p->code[i->a].line);
	return i[1].d;
}

static void one(struct look *l, uint32_t at)
{
	const struct lang_program *p = l->run.program;
	const struct lang_ins *i = &p->code[at];
	const struct step *s = &l->kernel->step[at];
	bool fine = is_pure(i) && all_known(l, i);
	uint32_t reg;
	unsigned type;

	if (i->code == CODE_RANGE) {
		tell(l, at, i);
		l->depth++;
	} else if (i->code == CODE_LOOP && p->code[i->d].code == CODE_NEXT) {
		l->depth--;
	} else {
		if (fine)
			s->fn(&l->run, s);
		for (unsigned k = 0; lang_makes(&reg, &type, i, k); k++)
			l->known[reg] = fine;
	}
}

static void all(struct look *l)
{
	const struct lang_program *p = l->run.program;

	for (uint32_t at = p->entry; at < p->ncode; at++) {
		if (l->end && at == l->end)
			at = l->behind;
		if (p->code[at].code == CODE_FUSES && !p->code[at].op)
			at = lang_lean_of(&p->code[at]) ? tell_leaning(l, &p->code[at])
							: tell_fused(l, at, &p->code[at]);
		one(l, at);
	}
}

char *lang_explain(const struct lang_kernel *k, const struct lang_array *array,
		   const union lang_reg *scalar)
{
	const struct lang_program *p = k->program;
	struct look l = {.kernel = k,
			 .run = {.kernel = k, .array = array, .program = p, .turns = LANG_TURNS}};
	char *text = NULL;
	size_t bytes = 0;

	l.run.reg = calloc(p->nreg + 1, sizeof *l.run.reg);
	l.known = calloc(p->nreg + 1, sizeof *l.known);
	l.loops = lang_loops_of(p);
	l.out = l.run.reg && l.known ? open_memstream(&text, &bytes) : NULL;
	for (uint32_t i = 0; l.out && i < p->nconst; i++) {
		l.run.reg[p->constant[i].reg] = p->constant[i].value;
		l.known[p->constant[i].reg] = true;
	}
	for (unsigned i = 0; l.out && i < p->nparam + p->nresult; i++) {
		if (p->param[i].rank)
			continue;
		if (i < p->nparam)
			l.run.reg[p->param[i].reg] = *scalar++;
		l.known[p->param[i].reg] = true;
	}
	if (l.out)
		all(&l);
	free(l.run.reg);
	free(l.known);
	lang_loops_free(l.loops);
	if (l.out && fclose(l.out)) {
		free(text);
		text = NULL;
	}
	return text;
}
