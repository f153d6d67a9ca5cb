/* SPDX-License-Identifier: Apache-2.0 */
/* worker_main.h - what a worker process runs (`brazed --worker FD`): the command socket is
 * fd, the progress page fd + 1.  Returns the process's exit status. */
#ifndef BRAZE_WORKER_MAIN_H
#define BRAZE_WORKER_MAIN_H

int worker_main(int fd);

#endif
