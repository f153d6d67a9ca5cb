/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_ins.c - one instruction: its mnemonic, its operands, what it becomes.
 *
 * In: the lexer after a guard.  Out: one or more struct ptx_ins.  Most instructions
 * are described by a shape, one letter for each operand, result first:
 *
 *   t  main type          2  second type       w  twice the main type if .wide
 *   u  u32                b  b32               p  predicate
 *   i  immediate
 *
 * The others have a parser of their own in ptx_special.c. */
#include "ptx_module.h"
#include "ptx_lex.h"
#include "ptx_special.h"
#include <string.h>

struct opcode {
	const char *name;
	enum ptx_op op;
	const char *shape;
	ptx_special_parse *parse; /* when there is no shape */
};

static const struct opcode opcodes[] = {
	{"mov", OP_MOV, NULL, ptx_special_mov},
	{"add", OP_ADD, "ttt", NULL},
	{"sub", OP_SUB, "ttt", NULL},
	{"mul", OP_MUL, "wtt", NULL},
	{"mul24", OP_MUL24, "ttt", NULL},
	{"mad", OP_MAD, "wttw", NULL},
	{"mad24", OP_MAD24, "tttt", NULL},
	{"fma", OP_FMA, "tttt", NULL},
	{"div", OP_DIV, "ttt", NULL},
	{"rem", OP_REM, "ttt", NULL},
	{"abs", OP_ABS, "tt", NULL},
	{"neg", OP_NEG, "tt", NULL},
	{"min", OP_MIN, "ttt", NULL},
	{"max", OP_MAX, "ttt", NULL},
	{"and", OP_AND, "ttt", NULL},
	{"or", OP_OR, "ttt", NULL},
	{"xor", OP_XOR, "ttt", NULL},
	{"not", OP_NOT, "tt", NULL},
	{"cnot", OP_CNOT, "tt", NULL},
	{"shl", OP_SHL, "ttu", NULL},
	{"shr", OP_SHR, "ttu", NULL},
	{"bfe", OP_BFE, "ttuu", NULL},
	{"bfi", OP_BFI, "tttuu", NULL},
	{"bmsk", OP_BMSK, "buu", NULL},
	{"szext", OP_SZEXT, "ttu", NULL},
	{"popc", OP_POPC, "ut", NULL},
	{"clz", OP_CLZ, "ut", NULL},
	{"brev", OP_BREV, "tt", NULL},
	{"bfind", OP_BFIND, "ut", NULL},
	{"prmt", OP_PRMT, "bbbu", NULL},
	{"shf", OP_SHF, "bbbu", NULL},
	{"lop3", OP_LOP3, "bbbbi", NULL},
	{"selp", OP_SELP, "tttp", NULL},
	{"slct", OP_SLCT, "ttt2", NULL},
	{"setp", OP_SETP, NULL, ptx_special_setp},
	{"set", OP_SET, "t22", NULL},
	{"cvt", OP_CVT, NULL, ptx_special_cvt},
	{"cvta", OP_CVTA, "tt", NULL},
	{"ld", OP_LD, NULL, ptx_special_ld},
	{"ldu", OP_LD, NULL, ptx_special_ld},
	{"st", OP_ST, NULL, ptx_special_st},
	{"atom", OP_ATOM, NULL, ptx_special_atom},
	{"red", OP_RED, NULL, ptx_special_atom},
	{"bra", OP_BRA, NULL, ptx_special_bra},
	{"brx", OP_BRX, NULL, ptx_special_bra},
	{"call", OP_CALL, NULL, ptx_special_call},
	{"ret", OP_RET, "", NULL},
	{"exit", OP_EXIT, "", NULL},
	{"bar", OP_BAR, NULL, ptx_special_bar},
	{"barrier", OP_BAR, NULL, ptx_special_bar},
	{"membar", OP_FENCE, "", NULL},
	{"fence", OP_FENCE, "", NULL},
	{"shfl", OP_SHFL, NULL, ptx_special_warp},
	{"vote", OP_VOTE, NULL, ptx_special_warp},
	{"match", OP_MATCH, NULL, ptx_special_warp},
	{"redux", OP_REDUX, NULL, ptx_special_warp},
	{"elect", OP_ELECT, NULL, ptx_special_warp},
	{"activemask", OP_ACTIVEMASK, "b", NULL},
	{"rcp", OP_RCP, "tt", NULL},
	{"sqrt", OP_SQRT, "tt", NULL},
	{"rsqrt", OP_RSQRT, "tt", NULL},
	{"sin", OP_SIN, "tt", NULL},
	{"cos", OP_COS, "tt", NULL},
	{"lg2", OP_LG2, "tt", NULL},
	{"ex2", OP_EX2, "tt", NULL},
	{"tanh", OP_TANH, "tt", NULL},
	{"copysign", OP_COPYSIGN, "ttt", NULL},
	{"testp", OP_TESTP, "pt", NULL},
	{"addc", OP_ADDC, "ttt", NULL},
	{"subc", OP_SUBC, "ttt", NULL},
	{"madc", OP_MADC, "tttt", NULL},
	{"sad", OP_SAD, "tttt", NULL},
	{"isspacep", OP_ISSPACEP, "pt", NULL},
	{"dp4a", OP_DP4A, "bbbb", NULL},
	{"dp2a", OP_DP2A, "bbbb", NULL},
	{"vabsdiff4", OP_VABSDIFF4, "bbbb", NULL},
	{"trap", OP_TRAP, "", NULL},
	{"brkpt", OP_TRAP, "", NULL},
	{"nanosleep", OP_NOP, NULL, ptx_special_nop},
	{"prefetch", OP_NOP, NULL, ptx_special_nop},
	{"prefetchu", OP_NOP, NULL, ptx_special_nop},
	{"discard", OP_NOP, NULL, ptx_special_nop},
	{"applypriority", OP_NOP, NULL, ptx_special_nop},
	{"pmevent", OP_NOP, NULL, ptx_special_nop},
};

/* ---- modifiers ---- */

struct word {
	const char *name;
	uint8_t value;
};

static bool find(const struct word *list, size_t n, const char *name, uint8_t *value)
{
	for (size_t k = 0; k < n; k++)
		if (!strcmp(list[k].name, name)) {
			*value = list[k].value;
			return true;
		}
	return false;
}

#define FIND(list, name, value) find(list, sizeof(list) / sizeof((list)[0]), name, value)

static const struct word rounds[] = {
	{"rn", ROUND_RN}, {"rna", ROUND_RN}, {"rz", ROUND_RZ}, {"rm", ROUND_RM}, {"rp", ROUND_RP},
};
static const struct word integer_rounds[] = {
	{"rni", ROUND_RN},
	{"rzi", ROUND_RZ},
	{"rmi", ROUND_RM},
	{"rpi", ROUND_RP},
};
static const struct word spaces[] = {
	{"global", SPACE_GLOBAL},      {"shared", SPACE_SHARED},     {"shared::cta", SPACE_SHARED},
	{"local", SPACE_LOCAL},	       {"param", SPACE_PARAM},	     {"const", SPACE_CONST},
	{"param::entry", SPACE_PARAM}, {"param::func", SPACE_PARAM},
};
static const struct word compares[] = {
	{"eq", CMP_EQ},	  {"ne", CMP_NE},   {"lt", CMP_LT},   {"le", CMP_LE},	{"gt", CMP_GT},
	{"ge", CMP_GE},	  {"equ", CMP_EQU}, {"neu", CMP_NEU}, {"ltu", CMP_LTU}, {"leu", CMP_LEU},
	{"gtu", CMP_GTU}, {"geu", CMP_GEU}, {"num", CMP_NUM}, {"nan", CMP_NAN}, {"lo", CMP_LT},
	{"ls", CMP_LE},	  {"hi", CMP_GT},   {"hs", CMP_GE},
};
static const struct word atomics[] = {
	{"add", ATOM_ADD}, {"min", ATOM_MIN}, {"max", ATOM_MAX},   {"and", ATOM_AND},
	{"or", ATOM_OR},   {"xor", ATOM_XOR}, {"exch", ATOM_EXCH}, {"cas", ATOM_CAS},
	{"inc", ATOM_INC}, {"dec", ATOM_DEC}, {"popc", ATOM_ADD},
};
static const struct word parts[] = {{"lo", PART_LO}, {"hi", PART_HI}, {"wide", PART_WIDE}};

/* Words of one instruction that set bits of its mode. */
static const struct {
	enum ptx_op op;
	const char *name;
	uint8_t bits;
} modes[] = {
	{OP_SHFL, "up", 0},	     {OP_SHFL, "down", 1},	{OP_SHFL, "bfly", 2},
	{OP_SHFL, "idx", 3},	     {OP_VOTE, "all", 0},	{OP_VOTE, "any", 1},
	{OP_VOTE, "uni", 2},	     {OP_VOTE, "ballot", 3},	{OP_MATCH, "any", 0},
	{OP_MATCH, "all", 1},	     {OP_SHF, "l", 0},		{OP_SHF, "r", 1},
	{OP_SHF, "wrap", 0},	     {OP_SHF, "clamp", 2},	{OP_BFIND, "shiftamt", 1},
	{OP_TESTP, "finite", 0},     {OP_TESTP, "infinite", 1}, {OP_TESTP, "number", 2},
	{OP_TESTP, "notanumber", 3}, {OP_TESTP, "normal", 4},	{OP_TESTP, "subnormal", 5},
	{OP_PRMT, "f4e", 1},	     {OP_PRMT, "b4e", 2},	{OP_PRMT, "rc8", 3},
	{OP_PRMT, "ecl", 4},	     {OP_PRMT, "ecr", 5},	{OP_PRMT, "rc16", 6},
	{OP_CVTA, "to", 1},	     {OP_BAR, "sync", 0},	{OP_BAR, "arrive", 1},
	{OP_BAR, "red", 2},	     {OP_VABSDIFF4, "add", 1},	{OP_BRX, "idx", 0},
	{OP_BMSK, "wrap", 1},	     {OP_BMSK, "clamp", 0},	{OP_SZEXT, "wrap", 1},
	{OP_SZEXT, "clamp", 0},
};

/* About caches, order and scope: every access here is in order and visible. */
static const char *const ignored[] = {
	"nc",
	"weak",
	"gpu",
	"sys",
	"cta",
	"cluster",
	"ca",
	"cg",
	"cs",
	"cv",
	"lu",
	"wb",
	"wt",
	"uni",
	"sync",
	"aligned",
	"noftz",
	"full",
	"sc",
	"gl",
	"L1",
	"L2",
	"acq_rel",
	"proxy",
	"async",
	"L1::no_allocate",
	"L1::evict_last",
	"L1::evict_first",
	"L1::evict_normal",
	"L1::evict_unchanged",
	"L2::64B",
	"L2::128B",
	"L2::256B",
	"L2::evict_last",
	"L2::evict_first",
	"L2::evict_normal",
	"evict_last",
	"evict_normal",
};
static const char *const unordered[] = {"volatile", "relaxed", "acquire", "release", "mmio"};

static bool among(const char *const *list, size_t n, const char *name)
{
	for (size_t k = 0; k < n; k++)
		if (!strcmp(list[k], name))
			return true;
	return false;
}

static bool mode_word(struct ptx_ins *i, const char *word)
{
	for (size_t k = 0; k < sizeof(modes) / sizeof(modes[0]); k++)
		if (modes[k].op == i->op && !strcmp(modes[k].name, word)) {
			i->mode |= modes[k].bits;
			return true;
		}
	return false;
}

static bool compare_word(struct ptx_ins *i, struct ptx_extra *x, const char *word)
{
	if (i->op != OP_SETP && i->op != OP_SET)
		return false;
	if (FIND(compares, word, &i->compare))
		return true;
	x->combine = !strcmp(word, "and")   ? OP_AND
		     : !strcmp(word, "or")  ? OP_OR
		     : !strcmp(word, "xor") ? OP_XOR
					    : x->combine;
	return x->combine && strlen(word) <= 3 && strchr("aox", word[0]);
}

static bool flag_word(struct ptx_ins *i, struct ptx_extra *x, const char *word)
{
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{"ftz", &i->ftz},	{"sat", &i->sat},      {"satfinite", &x->refused},
		{"approx", &i->approx}, {"cc", &i->carry_out}, {"NaN", &i->nan},
		{"warp", &x->warp},	{"relu", &x->refused},
	};
	if (word[0] == 'v' && (word[1] == '2' || word[1] == '4' || word[1] == '8') && !word[2]) {
		x->vector = (uint8_t)(word[1] - '0');
		return true;
	}
	for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
		if (!strcmp(flags[k].name, word))
			return *flags[k].flag = true;
	return false;
}

static bool listed_word(struct ptx_ins *i, const char *word)
{
	bool atomic = i->op == OP_ATOM || i->op == OP_RED || i->op == OP_REDUX || i->op == OP_BAR;

	return (atomic && FIND(atomics, word, &i->atomic)) || FIND(rounds, word, &i->round) ||
	       FIND(integer_rounds, word, &i->integer_round) || FIND(spaces, word, &i->space) ||
	       FIND(parts, word, &i->part);
}

static void modifier(struct ptx_module *m, struct ptx_ins *i, struct ptx_extra *x, const char *word)
{
	enum ptx_type type = ptx_type_of(word);

	if (type) {
		if (x->ntypes < 3)
			x->types[x->ntypes++] = type;
	} else if (compare_word(i, x, word) || mode_word(i, word) || listed_word(i, word) ||
		   flag_word(i, x, word)) {
		return;
	} else if (among(unordered, sizeof(unordered) / sizeof(unordered[0]), word)) {
		i->exempt = true;
	} else if (!among(ignored, sizeof(ignored) / sizeof(ignored[0]), word)) {
		ptx_refuse(m, "unsupported '.%s' in '%s'", word, m->mnemonic);
	}
}

/* ---- emission ---- */

static bool is_flow(enum ptx_op op)
{
	return op == OP_BRA || op == OP_BRX || op == OP_CALL || op == OP_RET || op == OP_EXIT ||
	       op == OP_BAR || op == OP_BARWARP || op == OP_TRAP || op == OP_ASSERT || op == OP_NOP;
}

void ptx_put(struct ptx_module *m, const struct ptx_ins *i)
{
	struct ptx_ins *to = ptx_emit(m, i->op, i->type);
	uint32_t guard = to->guard, line = to->line;
	bool guard_not = to->guard_not;

	*to = *i;
	to->guard = guard;
	to->guard_not = guard_not;
	to->line = line;
	if (!i->nd || (i->op != OP_SHFL && i->op != OP_MATCH && i->op != OP_ELECT))
		to->predicate = PTX_NONE;
	if (i->op != OP_LD && i->op != OP_ST && i->op != OP_ATOM && i->op != OP_RED)
		to->base = PTX_NONE;
	to->run = ptx_bind(to);
	if (!to->run && !is_flow(i->op))
		ptx_refuse(m, "unsupported instruction '%s'", m->mnemonic);
}

static void put_unary(struct ptx_module *m, enum ptx_op op, enum ptx_type type, uint32_t to,
		      uint32_t from)
{
	struct ptx_ins i = {.op = (uint8_t)op, .type = (uint8_t)type, .nd = 1, .ns = 1};

	i.d[0] = to;
	i.s[0] = from;
	ptx_put(m, &i);
}

static bool flushes(enum ptx_type t)
{
	return t == T_F32 || t == T_F64;
}

/* .ftz and .sat as operations of their own. */
void ptx_put_flushed(struct ptx_module *m, struct ptx_ins *i, enum ptx_type from, enum ptx_type to)
{
	bool ftz = i->ftz, sat = i->sat && ptx_type_float(to);
	bool any = flushes(from) || flushes(to);

	if (ftz && !any && ptx_type_float(from) && i->op != OP_EX2)
		ptx_refuse(m, "unsupported instruction '%s'", m->mnemonic);
	for (int k = 0; k < i->ns && ftz && flushes(from); k++) {
		uint32_t flushed = ptx_new_scratch(m, ptx_type_bytes[from]);

		put_unary(m, OP_FLUSH, from, flushed, i->s[k]);
		i->s[k] = flushed;
	}
	ptx_put(m, i);
	if (ftz && flushes(to))
		put_unary(m, OP_FLUSH, to, i->d[0], i->d[0]);
	if (sat)
		put_unary(m, OP_SATURATE, to, i->d[0], i->d[0]);
}

/* Two halves: taken apart, computed, put together. */
static void put_packed(struct ptx_module *m, struct ptx_ins *i)
{
	static const uint8_t half[T_COUNT] = {
		[T_F16X2] = T_F16,
		[T_BF16X2] = T_BF16,
		[T_U16X2] = T_U16,
		[T_S16X2] = T_S16,
	};
	struct ptx_ins one[2] = {*i, *i};
	struct ptx_ins pack = {.op = OP_PACK, .type = T_B32, .nd = 1, .ns = 2};

	for (int k = 0; k < i->ns; k++) {
		struct ptx_ins unpack = {.op = OP_UNPACK, .type = T_B32, .nd = 2, .ns = 1};

		unpack.s[0] = i->s[k];
		for (int h = 0; h < 2; h++)
			unpack.d[h] = one[h].s[k] = ptx_new_scratch(m, 2);
		ptx_put(m, &unpack);
	}
	for (int h = 0; h < 2; h++) {
		one[h].type = half[i->type];
		one[h].d[0] = pack.s[h] = ptx_new_scratch(m, 2);
		ptx_put_flushed(m, &one[h], one[h].type, one[h].type);
	}
	pack.d[0] = i->d[0];
	ptx_put(m, &pack);
}

static uint32_t carry_register(struct ptx_module *m)
{
	if (m->current->carry == PTX_NONE)
		m->current->carry = ptx_new_register(m, 1);
	return m->current->carry;
}

/* add.cc, addc, addc.cc and their like: one operation with a carry in and out. */
static void put_carry(struct ptx_module *m, struct ptx_ins *i)
{
	i->carry_in = i->op == OP_ADDC || i->op == OP_SUBC || i->op == OP_MADC;
	i->op = i->op == OP_ADD	  ? OP_ADDC
		: i->op == OP_SUB ? OP_SUBC
		: i->op == OP_MAD ? OP_MADC
				  : i->op;
	i->s[i->ns++] = carry_register(m);
	i->d[i->nd++] = carry_register(m);
	ptx_put(m, i);
}

static void put_shaped(struct ptx_module *m, struct ptx_ins *i)
{
	bool carries = i->op == OP_ADDC || i->op == OP_SUBC || i->op == OP_MADC;
	bool packed = i->type >= T_F16X2 && i->type <= T_S16X2;

	if (i->op == OP_MAD && ptx_type_float(i->type))
		i->op = OP_FMA;
	if (carries || i->carry_out)
		put_carry(m, i);
	else if (packed && i->op != OP_SELP)
		put_packed(m, i);
	else if (i->op == OP_SET)
		ptx_put_flushed(m, i, i->type2, T_NONE);
	else
		ptx_put_flushed(m, i, i->type, i->type);
}

/* ---- operands by shape ---- */

static enum ptx_type wider(enum ptx_type t)
{
	return t == T_U16 ? T_U32 : t == T_S16 ? T_S32 : t == T_U32 ? T_U64 : T_S64;
}

static enum ptx_type shape_type(const struct ptx_ins *i, char c)
{
	switch (c) {
	case 't':
		return i->type;
	case '2':
		return i->type2;
	case 'w':
		return i->part == PART_WIDE ? wider(i->type) : i->type;
	case 'u':
		return T_U32;
	case 'p':
		return T_PRED;
	default:
		return T_B32;
	}
}

static void shaped(struct ptx_module *m, struct ptx_ins *i, const char *shape)
{
	for (int k = 0; shape[k]; k++) {
		if (k && !ptx_lex_is(m->lex, ","))
			ptx_refuse(m, "%s: expected ',', found '%s'", m->mnemonic, m->lex->text);
		if (k)
			ptx_lex_next(m->lex);
		if (shape[k] == 'i')
			i->imm = (int64_t)ptx_number(m, false, T_U32);
		else if (k)
			i->s[i->ns++] = ptx_operand(m, shape_type(i, shape[k]), NULL);
		else
			i->d[i->nd++] = ptx_operand(m, shape_type(i, shape[k]), NULL);
	}
	bool three = (i->op == OP_MIN || i->op == OP_MAX) && ptx_lex_is(m->lex, ",");
	if (three) { /* min of three: the first two, then the third */
		struct ptx_ins first = *i;

		ptx_lex_next(m->lex);
		i->s[1] = ptx_operand(m, i->type, NULL);
		first.d[0] = i->s[0] = ptx_new_scratch(m, ptx_type_bytes[i->type]);
		put_shaped(m, &first);
	}
	put_shaped(m, i);
}

static const struct opcode *opcode_of(const char *name, size_t n)
{
	for (size_t k = 0; k < sizeof(opcodes) / sizeof(opcodes[0]); k++)
		if (!strncmp(opcodes[k].name, name, n) && !opcodes[k].name[n])
			return &opcodes[k];
	return NULL;
}

void ptx_instruction(struct ptx_module *m)
{
	struct ptx_ins i = {.predicate = PTX_NONE, .base = PTX_NONE, .target = PTX_NONE};
	struct ptx_extra x = {.vector = 1};
	char words[sizeof(m->mnemonic)], *rest = NULL;

	if (m->lex->length >= sizeof(words))
		ptx_refuse(m, "unknown instruction");
	memcpy(m->mnemonic, m->lex->text, m->lex->length + 1);
	memcpy(words, m->lex->text, m->lex->length + 1);
	const struct opcode *code = opcode_of(words, strcspn(words, "."));
	if (!code)
		ptx_refuse(m, "unknown instruction '%s'", m->mnemonic);
	i.op = (uint8_t)code->op;
	strtok_r(words, ".", &rest);
	for (char *w = strtok_r(NULL, ".", &rest); w; w = strtok_r(NULL, ".", &rest))
		modifier(m, &i, &x, w);
	if (x.refused)
		ptx_refuse(m, "unsupported modifier in '%s'", m->mnemonic);
	i.type = (uint8_t)x.types[0];
	i.type2 = (uint8_t)x.types[1];
	if (i.op == OP_ISSPACEP)
		i.type = T_U64;
	ptx_lex_next(m->lex);
	if (code->shape)
		shaped(m, &i, code->shape);
	else
		code->parse(m, &i, &x);
	if (!ptx_lex_is(m->lex, ";"))
		ptx_refuse(m, "%s: expected ';', found '%s'", m->mnemonic, m->lex->text);
	ptx_lex_next(m->lex);
}
