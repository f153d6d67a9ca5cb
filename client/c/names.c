/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/names.c - operations and errors by name and number. */
#include <string.h>

#include "client.h"

/* A code that braze.h lacks, or numbers otherwise, does not compile. */
#define ERROR(wire, id, python, text)                                                              \
	_Static_assert((int)BRAZE_E_##id == (int)E_##id, "public error codes");
#include "errors.def"
#undef ERROR
_Static_assert((int)BRAZE_FLOAT64 == DT_FLOAT64, "public types");
_Static_assert((int)BRAZE_COMPLEX128 == DT_COMPLEX128, "public types");
_Static_assert(BRAZE_MAX_NDIM == LIMIT_NDIM, "public limits");

const char *braze_version(void)
{
	return BRAZE_VERSION;
}

const char *braze_error_name(int code)
{
	if (code == BRAZE_E_INTERRUPTED)
		return "E_INTERRUPTED";
	return status_name((enum status)code);
}

const char *braze_error_python(int code)
{
	if (code == BRAZE_E_INTERRUPTED)
		return "KeyboardInterrupt";
	return status_python((enum status)code);
}

int braze_op_find(const char *name)
{
	for (unsigned op = 0; op < OP_END && name[0]; op++) {
		const struct op_row *row = op_row(op);
		if (row && !strcmp(row->numpy, name))
			return (int)op;
	}
	return -1;
}

const char *braze_op_name(int op)
{
	const struct op_row *row = op < 0 ? NULL : op_row((unsigned)op);

	return row ? row->numpy : NULL;
}

int braze_op_arity(int op)
{
	const struct op_row *row = op < 0 ? NULL : op_row((unsigned)op);

	return row ? row->arity : -1;
}

int braze_op_kind(int op)
{
	const struct op_row *row = op < 0 ? NULL : op_row((unsigned)op);

	if (!row)
		return 'x';
	return row->rule == RULE_INDEX				  ? 'x'
	       : row->kind == KIND_EW				  ? 'e'
	       : row->kind == KIND_RED				  ? 'r'
	       : row->kind == KIND_ARGRED			  ? 'a'
	       : row->kind == KIND_SCAN || row->kind == KIND_LANE ? 's'
	       : row->kind == KIND_SORT				  ? 'o'
								  : 'x';
}
