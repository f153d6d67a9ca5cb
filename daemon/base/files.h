/* SPDX-License-Identifier: Apache-2.0 */
/* base/files.h - what to say where no descriptor was to be had. */
#ifndef BRAZE_FILES_H
#define BRAZE_FILES_H

#include "ops.h"

/* `what` needs one and `error` is errno's: names the limit where that is the reason. */
enum status files_none(struct err *err, const char *what, int error);

#endif
