/* SPDX-License-Identifier: Apache-2.0 */
/* client/ctl/help.c - commands.def as help and as a script for bash. */
#include <string.h>

#include "ctl_client.h"

#define HELP_COLUMN 26 /* where the texts begin, but for options */

struct help_line {
	const char *name, *arguments, *text;
};

static const struct help_line commands[] = {
#define COMMAND(name, arguments, text) {name, arguments, text},
#define OPTION(name, argument, text)
#include "commands.def"
#undef COMMAND
#undef OPTION
};

static const struct help_line options[] = {
#define COMMAND(name, arguments, text)
#define OPTION(name, argument, text) {name, argument, text},
#include "commands.def"
#undef COMMAND
#undef OPTION
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void put_help(FILE *out, const struct help_line *h)
{
	int n = fprintf(out, "  %s%s%s", h->name, *h->arguments ? " " : "", h->arguments);

	if (n > HELP_COLUMN) {
		fputc('\n', out);
		n = 0;
	}
	fprintf(out, "%*s  %s\n", HELP_COLUMN - n, "", h->text);
}

void help_print(FILE *out)
{
	fputs("usage: brazectl [--socket PATH] [--json] COMMAND\n\n", out);
	for (size_t i = 0; i < COUNT(commands); i++)
		put_help(out, &commands[i]);
	fputs("\noptions:\n", out);
	for (size_t i = 0; i < COUNT(options); i++)
		put_help(out, &options[i]);
}

bool help_knows(const char *command)
{
	for (size_t i = 0; i < COUNT(commands); i++)
		if (!strcmp(commands[i].name, command))
			return true;
	return false;
}

static void put_words(const struct help_line *h, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(h[i].name, h[i - 1].name))
			printf("%s%s", i ? " " : "", h[i].name);
}

void help_completion(void)
{
	puts("# bash completion of brazectl, as `brazectl completion` prints it\n"
	     "_brazectl()\n"
	     "{\n"
	     "	local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}\n"
	     "	case $last in\n"
	     "	--socket|--export|--binary) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
	     "	cache) COMPREPLY=($(compgen -W clear -- \"$word\")); return ;;\n"
	     "	esac\n"
	     "	case \" ${COMP_WORDS[*]} \" in\n"
	     "	*' logs '*) COMPREPLY=($(compgen -W '--follow --lines' -- \"$word\")); "
	     "[ -z \"${COMPREPLY[*]}\" ] || return ;;\n"
	     "	*' drain '*) COMPREPLY=($(compgen -W '--binary' -- \"$word\")); "
	     "[ -z \"${COMPREPLY[*]}\" ] || return ;;\n"
	     "	*' page '*) COMPREPLY=($(compgen -W '--port' -- \"$word\")); "
	     "[ -z \"${COMPREPLY[*]}\" ] || return ;;\n"
	     "	*' sessions '*) COMPREPLY=($(compgen -W '--end' -- \"$word\")); "
	     "[ -z \"${COMPREPLY[*]}\" ] || return ;;\n"
	     "	*' kernels '*) COMPREPLY=($(compgen -W '--nest --export' -- \"$word\")); "
	     "[ -z \"${COMPREPLY[*]}\" ] || return ;;\n"
	     "	esac");
	fputs("	COMPREPLY=($(compgen -W '", stdout);
	put_words(commands, COUNT(commands));
	putchar(' ');
	put_words(options, COUNT(options));
	puts("' -- \"$word\"))\n"
	     "}\n"
	     "complete -F _brazectl brazectl");
}
