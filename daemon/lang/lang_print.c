/* SPDX-License-Identifier: Apache-2.0 */
/* lang/lang_print.c - a program as lines for people. */
#include <stdio.h>
#include <stdlib.h>

#include "lang.h"

static const char *const code_name[] = {
	[CODE_END] = "end",	  [CODE_MOVE] = "move",	    [CODE_OP] = "op",
	[CODE_CAST] = "cast",	  [CODE_JUMP] = "jump",	    [CODE_LOOP] = "loop",
	[CODE_UNLESS] = "unless", [CODE_WHEN] = "when",	    [CODE_RANGE] = "range",
	[CODE_NEXT] = "next",	  [CODE_PLACE] = "place",   [CODE_LOAD] = "load",
	[CODE_STORE] = "store",	  [CODE_LENGTH] = "length", [CODE_CALL] = "call",
	[CODE_CLAIM] = "claim",	  [CODE_RETURN] = "return", [CODE_VIEW] = "view",
	[CODE_JOIN] = "join",	  [CODE_MEETS] = "meets",   [CODE_ASIDE] = "aside",
	[CODE_BACK] = "back",	  [CODE_SPOT] = "spot",	    [CODE_BEGIN] = "begin",
	[CODE_TAKE] = "take",	  [CODE_GIVE] = "give",	    [CODE_SWEEP] = "sweep",
	[CODE_SUM] = "sum",	  [CODE_ADDEND] = "addend", [CODE_SUMMED] = "summed",
	[CODE_FUSES] = "fuses",	  [CODE_SEAM] = "seam",
};

static void heading(FILE *f, const struct lang_program *p)
{
	fprintf(f, "kernel %s base %d entry %u\n", p->name, (int)p->base, p->entry);
	for (unsigned i = 0; i < p->nparam + p->nresult; i++) {
		const struct lang_param *x = &p->param[i];

		fprintf(f, "  %s %s: %s rank %u at %u\n", i < p->nparam ? "param" : "result",
			x->name, dtype_row(x->type)->name, x->rank, x->reg);
	}
	for (uint32_t i = 0; i < p->nconst; i++)
		fprintf(f, "  r%u = 0x%llx 0x%llx\n", p->constant[i].reg,
			(unsigned long long)p->constant[i].value.bits[0],
			(unsigned long long)p->constant[i].value.bits[1]);
}

char *lang_print(const struct lang_program *p)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	heading(f, p);
	for (uint32_t i = 0; i < p->ncode; i++) {
		const struct lang_ins *s = &p->code[i];

		fprintf(f, "%5u: %s %s %u %u %u %u  # line %u\n", i,
			s->code == CODE_OP ? op_text(s->op) : code_name[s->code],
			dtype_row(s->type)->name, s->d, s->a, s->b, s->c, s->line);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
