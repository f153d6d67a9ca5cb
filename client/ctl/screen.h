/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/screen.h - a terminal for a program that fills it: raw keys, one write a frame.
 *
 * The terminal is left as it was found, by screen_close and by signals that end or stop us. */
#ifndef BRAZE_SCREEN_H
#define BRAZE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum key {
	KEY_NONE = 0, /* time is over, or the size changed */
	KEY_UP = 256,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_ESCAPE,
	KEY_ENTER,
	KEY_BACK,
	KEY_END /* a signal says so, or the terminal is gone */
};

/* False: there is no terminal. */
bool screen_open(void);
void screen_close(void);
/* The signal that ended it; 0: none. */
int screen_signal(void);
void screen_size(int *rows, int *columns);
/* A key within so many milliseconds: a byte, or one of enum key. */
int screen_key(int ms);

/* A frame is put together line by line, cut at the terminal's width, and shown at once. */
void screen_begin(void);
void screen_line(const char *text, bool reverse);
void screen_show(void);

#endif
