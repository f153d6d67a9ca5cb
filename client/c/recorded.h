/* SPDX-License-Identifier: Apache-2.0 */
/* client/c/recorded.h - an operation as it was recorded, and the functions that record
 * one without a look at how the session is set (eager, watched). */
#ifndef BRAZE_RECORDED_H
#define BRAZE_RECORDED_H

#include "client.h"

struct recorded {
	enum op op;
	unsigned n;
	const braze_arg *arg;
	unsigned axes; /* of a reduction; the axis of a scan */
	bool keepdims;
};

enum status record_apply(struct braze_array **out, struct braze_session *s, int op, int n,
			 const braze_arg *arg, struct err *err) MUST_USE;
enum status record_reduce(struct braze_array **out, int op, struct braze_array *a, unsigned axes,
			  int keepdims, int dtype, struct err *err) MUST_USE;
enum status record_scan(struct braze_array **out, int op, struct braze_array *a, int axis,
			int dtype, struct err *err) MUST_USE;
enum status record_cast(struct braze_array **out, struct braze_array *a, unsigned dtype,
			struct err *err) MUST_USE;
/* A 0-d array of the type with the number's value. */
enum status record_number(struct braze_array **out, struct braze_session *s, int dtype,
			  const braze_scalar *value, struct err *err) MUST_USE;

#endif
