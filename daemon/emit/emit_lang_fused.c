/* SPDX-License-Identifier: Apache-2.0 */
/* emit/emit_lang_fused.c - the question whether loops in a row may be one (lang/lang_fuse.h). */
#include "emit_lang_lane.h"
#include "lang/lang_fuse.h"

/* Of few turns nobody is asked; else the machine, which sees the registers of the loop. */
void emit_lang_fuses(struct lane *e, uint32_t at)
{
	const struct lang_ins *i = &e->p->code[at];
	uint32_t count = lang_nest_end(e->p, i->a) - i->a;

	if (i->op)
		return;
	text_put(&e->o, "%s = 0;\nif (BZ_MANY(%s, %s, %u)) { ", emit_lang_register(e, i->d),
		 emit_lang_register(e, i->b), emit_lang_register(e, i->b + 1),
		 lang_fusion_nested(e->p, i->a) ? 2 : LANG_FUSED_LEAST / count);
	for (uint32_t k = 0; k < 2 * i->c; k++)
		text_put(&e->o, "BZ_SET(%u, %s); ", i->b + k, emit_lang_register(e, i->b + k));
	emit_lang_show(e, i->a);
	text_put(&e->o, "BZ_STEP(%u); BZ_GET(%u, %s); }\n", at, i->d, emit_lang_register(e, i->d));
}
