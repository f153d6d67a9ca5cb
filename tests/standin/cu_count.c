/* SPDX-License-Identifier: Apache-2.0 */
/* cu_count.c - how often each function was called, and bytes that were copied: count=PATH.
 *
 * The file is a table of rows, which whoever wants to know maps or reads at any time; a
 * row's name does not change once it is there.  Several processes may count in one. */
#include "cu.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROWS 128

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct row {
	char name[56];
	uint64_t count;
} * rows; /* NULL: nobody wants to know */
static int table = -1;

void cu_count_setup(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, ROWS * sizeof *rows))
		p = mmap(NULL, ROWS * sizeof *rows, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	table = fd;
	if (p != MAP_FAILED)
		rows = p;
	else
		cu_log("calls are not counted: %s cannot be mapped", path);
}

/* The function's row, or the first that is nobody's. */
static unsigned row_of(const char *function)
{
	unsigned i = 0;

	while (i < ROWS - 1 && __atomic_load_n(&rows[i].name[0], __ATOMIC_ACQUIRE) &&
	       strcmp(rows[i].name, function) != 0)
		i++;
	return i;
}

/* Its first byte comes last: until then the row is nobody's. */
static void name_row(struct row *r, const char *function)
{
	snprintf(r->name + 1, sizeof r->name - 1, "%s", function + 1);
	__atomic_store_n(&r->name[0], function[0], __ATOMIC_RELEASE);
}

void cu_count(const char *function, uint64_t n)
{
	unsigned i = 0;

	pthread_mutex_lock(&lock);
	if (rows) {
		i = row_of(function);
		if (!rows[i].name[0]) { /* another process may take it */
			flock(table, LOCK_EX);
			i = row_of(function);
			if (!rows[i].name[0])
				name_row(&rows[i], function);
			flock(table, LOCK_UN);
		}
		__atomic_add_fetch(&rows[i].count, n, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
}
