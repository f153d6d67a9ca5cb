/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/screen.c - the terminal by its own control sequences, which every one of today knows.
 */
#define _GNU_SOURCE
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "ctl_client.h"

#define ENTER "\033[?1049h\033[?25l" /* another page, no cursor */
#define LEAVE "\033[?25h\033[?1049l"

static struct {
	struct termios before;
	bool open;
	volatile sig_atomic_t signal, stop;
	FILE *frame;
	char *text;
	size_t size;
	int row, rows, columns;
} screen;

static void put(const char *s, size_t n)
{
	while (n) {
		ssize_t done = write(STDOUT_FILENO, s, n);

		if (done < 0 && errno != EINTR)
			return;
		if (done > 0) {
			s += done;
			n -= (size_t)done;
		}
	}
}

static void on_signal(int number)
{
	if (number == SIGTSTP)
		screen.stop = 1;
	else if (number != SIGWINCH)
		screen.signal = number;
}

static void raw(void)
{
	struct termios t = screen.before;

	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
	put(ENTER, strlen(ENTER));
	screen.open = true;
}

void screen_close(void)
{
	if (!screen.open)
		return;
	screen.open = false;
	put(LEAVE, strlen(LEAVE));
	tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
}

bool screen_open(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
	struct sigaction act = {.sa_handler = on_signal};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &screen.before))
		return false;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &act, NULL);
	raw();
	return true;
}

int screen_signal(void)
{
	return screen.signal;
}

void screen_size(int *rows, int *columns)
{
	struct winsize w = {0};

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
	*rows = w.ws_row ? w.ws_row : 24;
	*columns = w.ws_col ? w.ws_col : 80;
}

/* Ctrl-Z: the shell gets its terminal, and gives it back. */
static void stop(void)
{
	screen.stop = 0;
	screen_close();
	raise(SIGSTOP);
	raw();
}

static int byte_within(int ms)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	unsigned char c = 0;
	int n = poll(&p, 1, ms);

	if (n < 0 && errno == EINTR)
		return KEY_NONE;
	if (n > 0 && read(STDIN_FILENO, &c, 1) != 1)
		return KEY_END;
	return n > 0 ? c : KEY_NONE;
}

/* What follows an escape, if it is an arrow's. */
static int arrow(void)
{
	static const int arrows[] = {KEY_UP, KEY_DOWN, KEY_RIGHT, KEY_LEFT};
	int c = byte_within(30);

	if (c == KEY_NONE)
		return KEY_ESCAPE;
	c = byte_within(30);
	return c >= 'A' && c <= 'D' ? arrows[c - 'A'] : KEY_NONE;
}

int screen_key(int ms)
{
	int c = screen.signal ? KEY_END : byte_within(ms);

	if (screen.stop)
		stop();
	if (screen.signal)
		return KEY_END;
	switch (c) {
	case 27:
		return arrow();
	case '\r':
	case '\n':
		return KEY_ENTER;
	case 8:
	case 127:
		return KEY_BACK;
	default:
		return c;
	}
}

void screen_begin(void)
{
	screen_size(&screen.rows, &screen.columns);
	screen.row = 0;
	screen.frame = open_memstream(&screen.text, &screen.size);
	if (screen.frame)
		fputs("\033[?2026h\033[H", screen.frame);
}

void screen_line(const char *text, bool reverse)
{
	if (!screen.frame || screen.row == screen.rows)
		return;
	if (screen.row++)
		fputs("\r\n", screen.frame);
	fputs(reverse ? "\033[7m" : "", screen.frame);
	size_t fits = cell_fit(text, screen.columns);
	for (size_t i = 0; i < fits; i++)
		fputc((unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i], screen.frame);
	if (reverse)
		fprintf(screen.frame, "%*s\033[0m",
			screen.columns - cell_width(text) > 0 ? screen.columns - cell_width(text)
							      : 0,
			"");
	fputs("\033[K", screen.frame);
}

void screen_show(void)
{
	if (!screen.frame)
		return;
	fputs("\033[J\033[?2026l", screen.frame);
	fclose(screen.frame);
	put(screen.text, screen.size);
	free(screen.text);
	screen.frame = NULL;
	screen.text = NULL;
}
