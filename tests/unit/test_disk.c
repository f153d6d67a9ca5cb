/* SPDX-License-Identifier: Apache-2.0 */
/* cache/disk.c: what comes back, and what a damaged or foreign folder does. */
#define _GNU_SOURCE
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/disk.h"
#include "compile/compile.h"

static char folder[64];

static void setup(void)
{
	strcpy(folder, "/tmp/braze-test-XXXXXX");
	cr_assert(mkdtemp(folder));
}

static void remove_all(void)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(folder);
}

static struct disk_kind kind; /* of what is read and written */

static struct disk *open_disk(const char *identity, uint64_t max)
{
	struct disk_config c = {.dir = folder, .max_bytes = max};
	struct disk *d = NULL;
	struct err err = {OK, ""};

	kind = (struct disk_kind){.identity = identity, .isa = 2, .generation = 1};
	cr_assert_eq(disk_open(&d, &c, &err), OK, "%s", err.text);
	return d;
}

static void put(struct disk *d, const char *key, const char *code)
{
	struct disk_code c = {.bytes = strlen(code), .registers = 40, .spill_bytes = 8};
	struct err err = {OK, ""};

	cr_assert_eq(compile_wire_memfd(&c.fd, "t", code, strlen(code), &err), OK);
	cr_assert_eq(disk_write(d, &kind, key, &c, &err), OK, "%s", err.text);
	close(c.fd);
}

static enum disk_found get(struct disk *d, const char *key, char *code, size_t room)
{
	struct disk_code c = {.fd = -1};
	enum disk_found f = disk_read(d, &kind, key, &c);

	if (f != DISK_HIT)
		return f;
	cr_assert_lt(c.bytes, room);
	cr_assert_eq(pread(c.fd, code, c.bytes, 0), (ssize_t)c.bytes);
	code[c.bytes] = 0;
	cr_assert_eq(c.registers, 40);
	cr_assert_eq(c.spill_bytes, 8);
	close(c.fd);
	return f;
}

/* Path of the only entry there is. */
static void only_entry(char *path, size_t room)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	int n = 0;

	while ((e = readdir(dir)))
		if (strstr(e->d_name, ".bzk")) {
			snprintf(path, room, "%.60s/%.60s", folder, e->d_name);
			n++;
		}
	closedir(dir);
	cr_assert_eq(n, 1);
}

static int count_files(void)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	int n = 0;

	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static const struct cuda_geometry found[] = {
	{132, 10, ENTRY_bz_map, GEOMETRY_TUNED, {256, 0, 8}, {128, 0, 32}, 1000, 900},
	{132, 11, ENTRY_bz_map_tile, GEOMETRY_KEPT, {256, 0, 8}, {256, 0, 8}, 50, 50},
};

static void put_found(struct disk *d, const char *key, const char *code, uint32_t n)
{
	struct disk_code c = {
		.bytes = strlen(code), .registers = 40, .spill_bytes = 8, .ngeometry = n};
	struct err err = {OK, ""};

	memcpy(c.geometry, found, n * sizeof found[0]);
	cr_assert_eq(compile_wire_memfd(&c.fd, "t", code, strlen(code), &err), OK);
	cr_assert_eq(disk_write(d, &kind, key, &c, &err), OK, "%s", err.text);
	close(c.fd);
}

TestSuite(disk, .init = setup, .fini = remove_all, .timeout = 60);

Test(disk, an_entry_comes_back_and_outlives_the_process_that_wrote_it)
{
	struct disk *d = open_disk("gcc", 0);
	char code[32];

	cr_assert_eq(get(d, "k1", code, sizeof code), DISK_MISS);
	put(d, "k1", "object one");
	cr_assert_eq(get(d, "k1", code, sizeof code), DISK_HIT);
	disk_close(d);
	d = open_disk("gcc", 0);
	cr_assert_eq(get(d, "k1", code, sizeof code), DISK_HIT);
	cr_assert_str_eq(code, "object one");
	put(d, "k1", "other code");
	cr_assert_eq(get(d, "k1", code, sizeof code), DISK_HIT);
	cr_assert_str_eq(code, "other code");
	cr_assert_eq(count_files(), 1);
	disk_remove(d, &kind, "k1");
	cr_assert_eq(get(d, "k1", code, sizeof code), DISK_MISS);
	disk_close(d);
}

Test(disk, what_trials_found_lies_with_the_code_of_its_architecture)
{
	struct disk *d = open_disk("nvrtc", 0);
	struct disk_code c = {.fd = -1};
	char code[32];

	put_found(d, "cuda sm_90\nnest", "cubin", 2);
	cr_assert_eq(get(d, "cuda sm_90\nnest", code, sizeof code), DISK_HIT);
	cr_assert_str_eq(code, "cubin");
	cr_assert_eq(get(d, "cuda sm_80\nnest", code, sizeof code), DISK_MISS);
	disk_close(d);
	d = open_disk("nvrtc", 0);
	cr_assert_eq(disk_read(d, &kind, "cuda sm_90\nnest", &c), DISK_HIT);
	cr_assert_eq(c.ngeometry, 2);
	cr_assert_eq(memcmp(c.geometry, found, sizeof found), 0);
	close(c.fd);
	/* It is written anew with the code, and the code alone is an entry as well. */
	put_found(d, "cuda sm_90\nnest", "cubin", 1);
	cr_assert_eq(disk_read(d, &kind, "cuda sm_90\nnest", &c), DISK_HIT);
	cr_assert_eq(c.ngeometry, 1);
	close(c.fd);
	cr_assert_eq(count_files(), 1);
	disk_close(d);
}

Test(disk, an_entry_whose_geometries_are_damaged_is_a_miss)
{
	struct disk *d = open_disk("nvrtc", 0);
	const char *key = "cuda sm_90\nnest", *cubin = "cubin";
	off_t first, end;
	char path[256], code[64], byte;
	struct stat st;

	put_found(d, key, cubin, 2);
	only_entry(path, sizeof path);
	cr_assert_eq(stat(path, &st), 0);
	end = st.st_size - (off_t)strlen(cubin);
	first = end - (off_t)sizeof found;
	for (off_t at = first; at < end; at++) {
		int fd;

		put_found(d, key, cubin, 2);
		fd = open(path, O_RDWR);
		cr_assert_eq(pread(fd, &byte, 1, at), 1);
		byte ^= (char)(1 << (at % 8));
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		cr_assert_eq(get(d, key, code, sizeof code), DISK_DAMAGED, "%ld", (long)at);
		put_found(d, key, cubin, 2);
		cr_assert_eq(truncate(path, at), 0);
		cr_assert_eq(get(d, key, code, sizeof code), DISK_DAMAGED, "%ld", (long)at);
	}
	disk_close(d);
}

Test(disk, more_geometries_than_a_kernel_has_are_refused)
{
	struct disk *d = open_disk("nvrtc", 0);
	struct disk_code c = {.bytes = 1, .ngeometry = CUDA_GEOMETRIES + 1};
	struct err err = {OK, ""};

	cr_assert_eq(compile_wire_memfd(&c.fd, "t", "x", 1, &err), OK);
	cr_assert_eq(disk_write(d, &kind, "k", &c, &err), E_LIMIT);
	close(c.fd);
	disk_close(d);
}

Test(disk, the_memfd_that_comes_back_cannot_be_changed)
{
	struct disk *d = open_disk("gcc", 0);
	struct disk_code c = {.fd = -1};

	put(d, "k", "object");
	cr_assert_eq(disk_read(d, &kind, "k", &c), DISK_HIT);
	cr_assert_eq(pwrite(c.fd, "x", 1, 0), -1);
	cr_assert_eq(errno, EPERM);
	close(c.fd);
	disk_close(d);
}

Test(disk, another_compiler_or_generation_misses)
{
	struct disk *d = open_disk("gcc 12", 0);
	char code[32];

	put(d, "k", "object");
	disk_close(d);
	d = open_disk("gcc 13", 0);
	cr_assert_eq(get(d, "k", code, sizeof code), DISK_MISS);
	disk_close(d);
}

Test(disk, every_truncation_is_a_miss_and_is_removed)
{
	struct disk *d = open_disk("gcc", 0);
	char path[256], code[64];
	struct stat st;

	put(d, "key text", "some object code");
	only_entry(path, sizeof path);
	cr_assert_eq(stat(path, &st), 0);
	for (off_t n = 0; n < st.st_size; n++) {
		put(d, "key text", "some object code");
		cr_assert_eq(truncate(path, n), 0);
		cr_assert_eq(get(d, "key text", code, sizeof code), DISK_DAMAGED, "%ld", (long)n);
		cr_assert_eq(access(path, F_OK), -1);
	}
	disk_close(d);
}

Test(disk, every_flipped_bit_is_a_miss)
{
	struct disk *d = open_disk("gcc", 0);
	char path[256], code[64], byte;
	struct stat st;

	put(d, "key text", "some object code");
	only_entry(path, sizeof path);
	cr_assert_eq(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		int fd;

		put(d, "key text", "some object code");
		fd = open(path, O_RDWR);
		cr_assert_eq(pread(fd, &byte, 1, at), 1);
		byte ^= (char)(1 << (at % 8));
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		cr_assert_neq(get(d, "key text", code, sizeof code), DISK_HIT, "%ld", (long)at);
	}
	disk_close(d);
}

Test(disk, bytes_appended_to_an_entry_make_it_a_miss)
{
	struct disk *d = open_disk("gcc", 0);
	char path[256], code[64];
	int fd;

	put(d, "k", "object");
	only_entry(path, sizeof path);
	fd = open(path, O_WRONLY | O_APPEND);
	cr_assert_eq(write(fd, "more", 4), 4);
	close(fd);
	cr_assert_eq(get(d, "k", code, sizeof code), DISK_DAMAGED);
	disk_close(d);
}

Test(disk, a_sound_entry_of_another_key_under_this_hash_is_a_miss)
{
	struct disk *d = open_disk("gcc", 0);
	char one[256], two[256], code[64];

	put(d, "one", "object one");
	only_entry(one, sizeof one);
	snprintf(two, sizeof two, "%s/saved", folder);
	cr_assert_eq(rename(one, two), 0);
	put(d, "two", "object two");
	only_entry(one, sizeof one);
	/* Now the file that "two" finds holds "one". */
	cr_assert_eq(rename(two, one), 0);
	cr_assert_eq(get(d, "two", code, sizeof code), DISK_MISS);
	put(d, "two", "object two");
	cr_assert_eq(get(d, "two", code, sizeof code), DISK_HIT);
	cr_assert_str_eq(code, "object two");
	disk_close(d);
}

Test(disk, a_fifo_a_link_and_a_folder_in_an_entrys_place_do_no_harm)
{
	struct disk *d = open_disk("gcc", 0);
	char path[256], code[64];

	put(d, "k", "object");
	only_entry(path, sizeof path);
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_neq(get(d, "k", code, sizeof code), DISK_HIT);
	unlink(path);
	cr_assert_eq(symlink("/etc/passwd", path), 0);
	cr_assert_neq(get(d, "k", code, sizeof code), DISK_HIT);
	put(d, "k", "object");
	cr_assert_eq(get(d, "k", code, sizeof code), DISK_HIT);
	disk_close(d);
}

/* Times of files rise in steps of a clock tick: 10 ms where it is slowest. */
#define TICK_US 30000

/* Entries k0 to k3, whose uses the file system can tell apart. */
static void put_four(struct disk *d, const char *code)
{
	char key[16];

	for (int i = 0; i < 4; i++) {
		snprintf(key, sizeof key, "k%d", i);
		put(d, key, code);
		usleep(TICK_US);
	}
}

Test(disk, the_oldest_use_is_evicted_first)
{
	struct disk *d = open_disk("gcc", 4000);
	char code[1024], big[801];

	memset(big, 'x', 800);
	big[800] = 0;
	put_four(d, big);
	cr_assert_eq(get(d, "k0", code, sizeof code), DISK_HIT);
	usleep(TICK_US);
	put(d, "k4", big);
	cr_assert_eq(get(d, "k1", code, sizeof code), DISK_MISS);
	cr_assert_eq(get(d, "k0", code, sizeof code), DISK_HIT);
	cr_assert_eq(get(d, "k4", code, sizeof code), DISK_HIT);
	disk_close(d);
}

Test(disk, an_entry_written_again_counts_once)
{
	struct disk *d = open_disk("gcc", 1 << 20);
	char code[1024], big[801], key[16], path[128];
	struct stat entry;

	memset(big, 'x', 800);
	big[800] = 0;
	put(d, "k0", big);
	only_entry(path, sizeof path);
	cr_assert_eq(stat(path, &entry), 0);
	disk_close(d);
	/* Four entries are nearly all there is room for: were one counted twice, another would
	 * have to go. */
	d = open_disk("gcc", (uint64_t)entry.st_size * 41 / 10);
	put_four(d, big);
	for (int i = 0; i < 20; i++)
		put(d, "k3", big);
	for (int i = 0; i < 4; i++) {
		snprintf(key, sizeof key, "k%d", i);
		cr_assert_eq(get(d, key, code, sizeof code), DISK_HIT, "%s is gone", key);
	}
	disk_close(d);
}

Test(disk, clearing_leaves_no_entry)
{
	struct disk *d = open_disk("gcc", 0);
	struct err err = {OK, ""};

	put(d, "a", "1");
	put(d, "b", "2");
	cr_assert_eq(disk_clear(d, &err), OK);
	cr_assert_eq(count_files(), 0);
	disk_close(d);
}

Test(disk, a_folder_open_to_others_is_refused_by_name)
{
	struct disk_config c = {.dir = folder};
	struct disk *d = NULL;
	struct err err = {OK, ""};

	cr_assert_eq(chmod(folder, 0755), 0);
	cr_assert_eq(disk_open(&d, &c, &err), E_INVALID);
	cr_assert(strstr(err.text, folder) && strstr(err.text, "chmod 700"), "%s", err.text);
	c.dir = "relative";
	cr_assert_eq(disk_open(&d, &c, &err), E_INVALID);
	c.dir = "/dev/null/x";
	cr_assert_eq(disk_open(&d, &c, &err), E_SYSTEM);
}

Test(disk, a_missing_folder_is_made_private_with_its_parents)
{
	char dir[128];
	struct disk_config c = {.dir = dir};
	struct disk *d = NULL;
	struct err err = {OK, ""};
	struct stat st;

	snprintf(dir, sizeof dir, "%s/a/b", folder);
	cr_assert_eq(disk_open(&d, &c, &err), OK, "%s", err.text);
	cr_assert_eq(stat(dir, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0700);
	disk_close(d);
	rmdir(dir);
	snprintf(dir, sizeof dir, "%s/a", folder);
	rmdir(dir);
}

/* A writer killed at random moments, over and over, beside a reader. */
Test(disk, a_writer_killed_at_any_moment_leaves_sound_entries_only)
{
	struct disk *d = open_disk("gcc", 0);
	char code[64], key[16], want[32];
	int hits = 0;

	for (int round = 0; round < 60; round++) {
		pid_t pid = fork();

		cr_assert_geq(pid, 0);
		if (!pid) {
			struct disk *own = open_disk("gcc", 0);

			for (unsigned i = 0;; i++) {
				snprintf(key, sizeof key, "key%u", i % 4);
				snprintf(want, sizeof want, "code of key%u", i % 4);
				put(own, key, want);
			}
		}
		usleep(1000 + (unsigned)round * 150);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		for (unsigned i = 0; i < 4; i++) {
			enum disk_found f;

			snprintf(key, sizeof key, "key%u", i);
			snprintf(want, sizeof want, "code of key%u", i);
			f = get(d, key, code, sizeof code);
			cr_assert_neq(f, DISK_DAMAGED);
			if (f == DISK_HIT) {
				cr_assert_str_eq(code, want);
				hits++;
			}
		}
	}
	cr_assert_gt(hits, 0);
	disk_close(d);
}
