/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/code.c - see code.h. */
#define _GNU_SOURCE
#include "code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "cache/disk.h"
#include "cache/target.h"
#include "compile/compile.h"

/* The child: compile, tell, end. */
static _Noreturn void compile_and_tell(int sock, const char *library, int source, unsigned arch)
{
	struct compile_nvrtc job = {.library = library, .arch = arch};
	struct compile_reply reply = {.magic = COMPILE_MAGIC};
	struct err err = {0};
	int code = -1;

	reply.status = (uint32_t)compile_nvrtc_run(&code, &reply.code_bytes, &job, source,
						   reply.log, &err);
	if (reply.status)
		memcpy(reply.log, err.text, sizeof err.text);
	compile_wire_send(sock, &reply, sizeof reply, code);
	_exit(0);
}

enum status code_compile(int *out, uint64_t *bytes, const char *source, unsigned arch,
			 struct err *err)
{
	struct target t = {.helper = NULL};
	struct compile_reply reply = {0};
	struct cuda_find found;
	int pair[2], text = -1, code = -1;
	enum status st;
	pid_t pid;

	if (!target_identify_cuda(&t, &found))
		return err_set(err, E_COMPILE, "%.240s", t.missing);
	st = compile_wire_memfd(&text, "gpucheck", source, strlen(source), err);
	if (st)
		return st;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		close(text);
		return err_set(err, E_SYSTEM, "socketpair: %s", strerror(errno));
	}
	pid = fork();
	if (pid == 0)
		compile_and_tell(pair[1], found.path, text, arch);
	close(pair[1]);
	close(text);
	if (pid < 0 || compile_wire_recv(pair[0], &reply, sizeof reply, &code, 0) != 1)
		st = err_set(err, E_COMPILE, "NVRTC (%.200s) gave no answer", found.path);
	else if (reply.status)
		st = err_set(err, (enum status)reply.status, "%.250s", reply.log);
	close(pair[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	*out = code;
	*bytes = reply.code_bytes;
	return st;
}

enum status code_image(char **out, const char *source, unsigned arch, struct err *err)
{
	uint64_t bytes = 0;
	int fd = -1;
	enum status st = code_compile(&fd, &bytes, source, arch, err);
	char *image;

	if (st)
		return st;
	image = xcalloc(1, bytes + 1);
	if (pread(fd, image, bytes, 0) != (ssize_t)bytes) {
		st = err_set(err, E_SYSTEM, "code cannot be read: %s", strerror(errno));
		free(image);
	} else {
		*out = image;
	}
	close(fd);
	return st;
}

enum status code_replace(const char *folder, const char *key, const char *source, unsigned arch,
			 struct err *err)
{
	const struct disk_config config = {.dir = folder};
	struct target t = {.helper = NULL};
	struct disk_code code = {.fd = -1}, old = {.fd = -1};
	struct cuda_find found;
	struct disk *disk = NULL;
	enum status st = code_compile(&code.fd, &code.bytes, source, arch, err);

	if (st)
		return st;
	target_identify_cuda(&t, &found);
	st = disk_open(&disk, &config, err);
	/* It must be there: otherwise the daemon would not find this one either. */
	if (!st && disk_read(disk, &t.kind, key, &old) != DISK_HIT)
		st = err_set(err, E_INTERNAL, "the kernel to be replaced is not in %s", folder);
	if (!st)
		st = disk_write(disk, &t.kind, key, &code, err);
	if (disk)
		disk_close(disk);
	if (old.fd >= 0)
		close(old.fd);
	close(code.fd);
	return st;
}
