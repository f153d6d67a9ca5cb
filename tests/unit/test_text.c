/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/text.h"

static void expect(const char *from, size_t n, const char *want)
{
	char buf[64];

	memset(buf, '#', sizeof(buf));
	text_clean(buf, n, from);
	cr_assert_str_eq(buf, want);
	cr_assert_eq(buf[n], '#', "it wrote past the %zu bytes", n);
}

Test(text, plain_text_stays)
{
	expect("heat.py", 32, "heat.py");
	expect("", 1, "");
	expect("W\u00e4rme \u6a21\u578b \U0001f525", 32, "W\u00e4rme \u6a21\u578b \U0001f525");
}

Test(text, what_steers_becomes_a_question_mark)
{
	expect("a\x1b[31mb\n\t\x7f", 32, "a?[31mb???");
	expect("\xc2\x9b"
	       "31m\u202e\u2028\u200f\u00ad\ufeff\u2066",
	       32, "?31m??????");
	expect("\U000e0041", 32, "?");
}

Test(text, broken_utf8_becomes_question_marks)
{
	expect("\xff\xfe", 32, "??");
	expect("a\xc3", 32, "a?");
	expect("\xc0\xaf", 32, "??");		/* too long a form of "/" */
	expect("\xed\xa0\x80", 32, "???");	/* half of a surrogate pair */
	expect("\xf4\x90\x80\x80", 32, "????"); /* beyond the last character */
	expect("\xe6\xa8", 32, "??");
}

Test(text, whole_characters_only)
{
	expect("\u6a21\u578b", 7, "\u6a21\u578b");
	expect("\u6a21\u578b", 6, "\u6a21");
	expect("\u6a21", 3, "");
	expect("abc", 3, "ab");
	expect("\n\n\n", 3, "??");
}

Test(text, tail_is_whole_characters)
{
	cr_assert_str_eq(text_tail("/a/b/c", 7), "/a/b/c");
	cr_assert_str_eq(text_tail("/a/b/c", 4), "b/c");
	cr_assert_str_eq(text_tail("\u6a21x", 4), "x");
	cr_assert_str_eq(text_tail("", 1), "");
}
