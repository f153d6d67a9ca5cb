/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an entry of the disk cache.
 *
 * In: a byte that tells how far the entry is made plausible (magic, lengths,
 * checksum), then the file.  An entry that is served must be one that says our
 * identity and key and whose checksum is right; a damaged one is removed; the
 * folder works afterwards.  The source is included for its header and checksum. */
#include "../../daemon/cache/disk.c"

#include <sys/mman.h>

#include "fuzz.h"

#define KEY	 "kernel"
#define IDENTITY "isa"

static struct disk *disk;
static char folder[64];

static void remove_folder(void)
{
	struct err err;

	if (disk_clear(disk, &err))
		fprintf(stderr, "%s\n", err.text);
	disk_close(disk);
	rmdir(folder);
}

static const struct disk_kind kind = {IDENTITY, 2, 7};

static void open_folder(void)
{
	struct disk_config c = {folder, 1u << 20};
	struct err err = {0};

	snprintf(folder, sizeof folder, "/dev/shm/braze-fuzz-XXXXXX");
	FUZZ_CHECK(mkdtemp(folder));
	FUZZ_CHECK(!disk_open(&disk, &c, &err));
	atexit(remove_folder);
}

/* The more bits of `how` are set, the more of the file is made right. */
static void mend(char *file, size_t n, unsigned how)
{
	const size_t identity = strlen(IDENTITY), key = strlen(KEY);
	struct header h;

	if (n < sizeof h)
		return;
	memcpy(&h, file, sizeof h);
	if (how & 1)
		memcpy(h.magic, MAGIC, sizeof h.magic);
	if (how & 2 && n >= sizeof h + identity + key) {
		h.identity_bytes = identity;
		h.key_bytes = key;
		h.code_bytes = n - sizeof h - identity - key;
		memcpy(file + sizeof h, IDENTITY, identity);
		memcpy(file + sizeof h + identity, KEY, key);
	}
	if (how & 4) {
		h.generation = 7;
		h.isa = 2;
	}
	if (how & 8)
		h.checksum = checksum(&h, file + sizeof h, n - sizeof h);
	memcpy(file, &h, sizeof h);
}

static void put_file(const char *name, const char *file, size_t n)
{
	int fd = openat(disk->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_CHECK(fd >= 0 && write_all(fd, file, n));
	close(fd);
}

/* What was served is the end of the file, sealed. */
static void check_hit(const char *file, size_t n, int fd, uint64_t bytes)
{
	char *code = malloc((size_t)bytes);
	struct header h;

	memcpy(&h, file, sizeof h);
	FUZZ_CHECK(bytes && bytes < n && h.generation == 7 && h.isa == 2);
	FUZZ_CHECK(h.checksum == checksum(&h, file + sizeof h, n - sizeof h));
	FUZZ_CHECK(!memcmp(file + sizeof h, IDENTITY KEY, strlen(IDENTITY KEY)));
	FUZZ_CHECK(read_all(fd, code, (size_t)bytes));
	FUZZ_CHECK(!memcmp(code, file + n - bytes, (size_t)bytes));
	FUZZ_CHECK(fcntl(fd, F_GET_SEALS) & F_SEAL_WRITE);
	close(fd);
	free(code);
}

static void works_still(void)
{
	struct disk_code code = {.fd = memfd_create("code", MFD_CLOEXEC), .bytes = 6}, got;
	struct err err = {0};

	FUZZ_CHECK(write(code.fd, "object", 6) == 6);
	FUZZ_CHECK(!disk_write(disk, &kind, KEY, &code, &err));
	FUZZ_CHECK(disk_read(disk, &kind, KEY, &got) == DISK_HIT && got.bytes == 6);
	close(got.fd);
	close(code.fd);
	disk_remove(disk, &kind, KEY);
	FUZZ_CHECK(!disk->used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum disk_found found;
	char name[MAX_NAME], *file;
	struct disk_code code = {.fd = -1};
	struct stat st;
	size_t n;

	if (!size)
		return 0;
	if (!disk)
		open_folder();
	n = size - 1;
	file = malloc(n + 1);
	memcpy(file, data + 1, n);
	mend(file, n, data[0]);
	entry_name(name, &kind, KEY);
	put_file(name, file, n);
	found = disk_read(disk, &kind, KEY, &code);
	FUZZ_CHECK((found == DISK_DAMAGED) == (fstatat(disk->dir, name, &st, 0) != 0));
	if (found == DISK_HIT)
		check_hit(file, n, code.fd, code.bytes);
	free(file);
	unlinkat(disk->dir, name, 0);
	disk->used = 0;
	if (!(data[0] >> 4)) /* it syncs: now and then is enough */
		works_still();
	return 0;
}
