/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_why.c - words for what is known of a loop. */
#include <stdio.h>
#include <string.h>

#include "lang_nest.h"

static const char *array_of(const struct lang_program *p, uint32_t at)
{
	for (unsigned k = 0; k < p->nparam; k++)
		if (p->param[k].rank && p->param[k].reg == p->code[at].a)
			return p->param[k].name;
	return "?";
}

/* Only results and parameters have names here. */
static const char *scalar_of(const struct lang_program *p, uint32_t reg)
{
	for (unsigned k = 0; k < p->nparam + p->nresult; k++)
		if (!p->param[k].rank && p->param[k].reg == reg)
			return p->param[k].name;
	return NULL;
}

static uint32_t line_of(const struct lang_program *p, const struct lang_nest *n)
{
	for (uint32_t at = n->end; at-- > 0;)
		if (p->code[at].d == n->reg &&
		    (p->code[at].code == CODE_OP || p->code[at].code == CODE_MOVE ||
		     p->code[at].code == CODE_CAST || p->code[at].code == CODE_LOAD))
			return p->code[at].line;
	return p->code[n->at].line;
}

static void say_pair(FILE *f, const struct lang_program *p, const struct lang_nest *n)
{
	const struct lang_dependence *d = &n->depends;

	fprintf(f, "'%s' in line %u and '%s' in line %u", array_of(p, n->at), p->code[n->at].line,
		array_of(p, n->other), p->code[n->other].line);
	if (d->answer == LANG_UNKNOWN)
		fprintf(f, ": whether turns touch the same bytes is not decided");
	else if (!n->certain)
		fprintf(f, " may touch the same bytes in different turns");
	else if (d->constant)
		fprintf(f, " touch the same bytes, %lld turn%s apart", (long long)d->distance,
			d->distance == 1 ? "" : "s");
	else
		fprintf(f, " touch the same bytes in different turns");
	if (d->answer == LANG_CARRIED && d->ndirection > 1)
		fprintf(f, " (%.*s)", (int)d->ndirection, d->direction);
}

static void say_scalar(FILE *f, const struct lang_program *p, const struct lang_nest *n)
{
	const char *name = scalar_of(p, n->reg);

	fprintf(f, "%s%s%s in line %u passes from turn to turn", name ? "'" : "",
		name ? name : "a scalar", name ? "'" : "", line_of(p, n));
}

void lang_nest_say(char *text, size_t bytes, const struct lang_program *p,
		   const struct lang_nest *n)
{
	static const char *const words[NEST_END] = {
		[NEST_NONE] = "no turn needs another",
		[NEST_LEAVES] = "it may be left before its end",
		[NEST_SLICES] = "slices and reductions are done one after the other",
		[NEST_BOUNDS] = "bounds of a loop inside are not sums of loop numbers",
		[NEST_SAID] = "the text says that it is sequential",
		[NEST_LARGE] = "it is too large to be looked at"};
	FILE *f = fmemopen(text, bytes, "w");

	*text = 0;
	if (!f)
		return;
	if (n->why == NEST_DEPENDS || n->why == NEST_UNDECIDED)
		say_pair(f, p, n);
	else if (n->why == NEST_SCALAR)
		say_scalar(f, p, n);
	else if (n->why == NEST_INDEX)
		fprintf(f, "an index of '%s' in line %u is not proven to lie inside",
			array_of(p, n->at), p->code[n->at].line);
	else
		fprintf(f, "%s%s", words[n->why],
			n->nsum + n->nclaimed ? ", sums are put together" : "");
	fclose(f);
	text[bytes - 1] = 0;
}
