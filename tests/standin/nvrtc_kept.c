/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_kept.c - what NVRTC made of a text, kept between runs of the tests. */
#define _GNU_SOURCE
#include "nvrtc_kept.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (256u << 20) /* of a part: a file that says more is damaged */

struct program {
	struct program *next;
	uintptr_t handle;
	uint64_t text[2]; /* hash of it */
	char path[1100];  /* of its file; "": not compiled, or not to be kept */
	bool never, answered;
	struct kept_answer answer;
};

struct head {
	char magic[8];
	uint64_t bytes[KEPT_PARTS];
};

static const char magic[8] = {'b', 'z', 'k', 'e', 'p', 't', '0', '1'};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct program *programs;

/* Both halves over a text with its 0, so that two texts are not one longer. */
static void hash_text(uint64_t h[2], const char *text)
{
	size_t n = strlen(text) + 1;

	for (size_t i = 0; i < n; i++) {
		h[0] = (h[0] ^ (unsigned char)text[i]) * 0x100000001b3ull;
		h[1] = (h[1] + (unsigned char)text[i] + 1) * 0x9e3779b97f4a7c15ull;
		h[1] ^= h[1] >> 29;
	}
}

static struct program *found(uintptr_t handle)
{
	struct program *p = programs;

	while (p && p->handle != handle)
		p = p->next;
	return p;
}

static struct program *find(uintptr_t handle)
{
	pthread_mutex_lock(&lock);
	struct program *p = found(handle);
	pthread_mutex_unlock(&lock);
	return p;
}

void kept_created(uintptr_t program, const char *text, const char *name)
{
	struct program *p = calloc(1, sizeof(*p));

	if (!p)
		return;
	p->handle = program;
	p->text[0] = 0xcbf29ce484222325ull;
	p->text[1] = 0x6c62272e07bb0142ull;
	hash_text(p->text, text);
	hash_text(p->text, name ? name : "");
	pthread_mutex_lock(&lock);
	p->next = programs;
	programs = p;
	pthread_mutex_unlock(&lock);
}

void kept_never(uintptr_t program)
{
	struct program *p = find(program);

	if (p)
		p->never = true;
}

static void answer_free(struct kept_answer *a)
{
	for (unsigned i = 0; i < KEPT_PARTS; i++)
		free(a->data[i]);
	memset(a, 0, sizeof(*a));
}

/* A part that there is not has no bytes. */
static bool read_parts(FILE *f, struct kept_answer *out)
{
	struct head h;

	if (fread(&h, sizeof(h), 1, f) != 1 || memcmp(h.magic, magic, sizeof(magic)))
		return false;
	for (unsigned i = 0; i < KEPT_PARTS; i++) {
		out->bytes[i] = h.bytes[i];
		if (h.bytes[i] > MOST_BYTES || !(out->data[i] = malloc(h.bytes[i] + 1)) ||
		    fread(out->data[i], 1, h.bytes[i], f) != h.bytes[i])
			return false;
	}
	return fgetc(f) == EOF;
}

static bool read_file(const char *path, struct kept_answer *out)
{
	FILE *f = fopen(path, "re");
	bool good = f && read_parts(f, out);

	if (good)
		futimens(fileno(f), NULL); /* what is used stays */
	if (f)
		fclose(f);
	if (!good)
		answer_free(out);
	return good;
}

bool kept_compiled_once(uintptr_t program, const char *nvrtc, size_t n, const char *const *option)
{
	const char *folder = getenv("BRAZE_STANDIN_KEPT");
	struct program *p = find(program);

	if (!p || p->never || !folder || !*folder)
		return false;
	uint64_t h[2] = {p->text[0], p->text[1]};
	hash_text(h, nvrtc);
	for (size_t i = 0; i < n; i++) {
		if (strstr(option[i], "lto"))
			return false; /* whose product is another one */
		hash_text(h, option[i]);
	}
	int length = snprintf(p->path, sizeof(p->path), "%s/%016llx%016llx", folder,
			      (unsigned long long)h[0], (unsigned long long)h[1]);
	if (length >= (int)sizeof(p->path))
		p->path[0] = 0;
	p->answered = p->path[0] && read_file(p->path, &p->answer);
	return p->answered;
}

static bool write_parts(FILE *f, const struct kept_answer *a)
{
	struct head h;
	bool good = true;

	memcpy(h.magic, magic, sizeof(magic));
	for (unsigned i = 0; i < KEPT_PARTS; i++)
		h.bytes[i] = a->bytes[i];
	good &= fwrite(&h, sizeof(h), 1, f) == 1;
	for (unsigned i = 0; i < KEPT_PARTS; i++)
		good &= !a->bytes[i] || fwrite(a->data[i], a->bytes[i], 1, f) == 1;
	return good;
}

void kept_store(uintptr_t program, const struct kept_answer *answer)
{
	struct program *p = find(program);
	char fresh[1200];

	if (!p || !p->path[0])
		return;
	snprintf(fresh, sizeof(fresh), "%s.XXXXXX", p->path);
	int fd = mkostemp(fresh, O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		if (fd >= 0)
			close(fd);
		return; /* it is compiled the next time as well */
	}
	bool good = write_parts(f, answer);
	good &= !fclose(f);
	if (!good || rename(fresh, p->path))
		unlink(fresh);
}

const struct kept_answer *kept_answer(uintptr_t program)
{
	struct program *p = find(program);

	return p && p->answered ? &p->answer : NULL;
}

void kept_destroyed(uintptr_t program)
{
	pthread_mutex_lock(&lock);
	for (struct program **at = &programs; *at; at = &(*at)->next) {
		struct program *p = *at;

		if (p->handle == program) {
			*at = p->next;
			answer_free(&p->answer);
			free(p);
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}
