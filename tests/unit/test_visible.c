/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "base/visible.h"

#define ONE "GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a01"

Test(visible, numbers)
{
	cr_expect(visible_allows("0", 0, ONE));
	cr_expect_not(visible_allows("0", 1, ONE));
	cr_expect(visible_allows("2,1", 1, ONE));
	cr_expect(visible_allows(" 2 , 1 ", 1, ""));
	cr_expect_not(visible_allows("11", 1, ONE));
	cr_expect_not(visible_allows("0,1", -1, ONE), "its number is unknown");
}

Test(visible, nothing_is_left_by_an_empty_list)
{
	cr_expect_not(visible_allows("", 0, ONE));
	cr_expect_not(visible_allows(" ", 0, ONE));
	cr_expect_not(visible_allows("-1", 0, ONE));
	cr_expect_not(visible_allows("NoDevFiles", 0, ONE));
	cr_expect_not(visible_allows("", 0, 0));
}

Test(visible, what_is_nothing_ends_the_list)
{
	cr_expect(visible_allows("0,-1,1", 0, ONE));
	cr_expect_not(visible_allows("0,-1,1", 1, ONE));
	cr_expect_not(visible_allows("0,,1", 1, ONE));
	cr_expect_not(visible_allows("0,1x,1", 1, ONE));
	cr_expect_not(visible_allows("0,99999999,1", 1, ONE));
	cr_expect_not(visible_allows("GPU-,1", 1, ONE));
}

Test(visible, uuids_by_their_beginning)
{
	cr_expect(visible_allows(ONE, 7, ONE));
	cr_expect(visible_allows("GPU-5a5a", -1, ONE));
	cr_expect(visible_allows("GPU-5A5A5A5A", -1, ONE));
	cr_expect(visible_allows("GPU-77,GPU-5a", -1, ONE));
	cr_expect_not(visible_allows("GPU-77", 0, ONE));
	cr_expect_not(visible_allows(ONE "7", 0, ONE));
	cr_expect_not(visible_allows("GPU-5a", 0, ""), "a device without a UUID");
	cr_expect(visible_allows("GPU-77", 0, 0), "it is not known yet");
}

Test(visible, slices)
{
	const char *slice = "MIG-41c7e7a4-0000-1111-2222-333344445555";

	cr_expect(visible_allows("MIG-41c7e7a4", -1, slice));
	cr_expect_not(visible_allows("GPU-41c7e7a4", -1, slice));
	cr_expect_not(visible_allows("MIG-GPU-41c7e7a4/1/0", -1, slice), "the old way to write it");
	cr_expect(visible_allows("MIG-GPU-41c7e7a4/1/0,3", 3, slice));
}

Test(visible, the_daemon_may_have_a_list_itself)
{
	cr_expect_eq(visible_index(0, 2), 2);
	cr_expect_eq(visible_index("3,1", 0), 3);
	cr_expect_eq(visible_index("3,1", 1), 1);
	cr_expect_eq(visible_index("3,1", 2), -1);
	cr_expect_eq(visible_index(ONE ",1", 0), -1);
	cr_expect_eq(visible_index(ONE ",1", 1), 1);
	cr_expect_eq(visible_index("", 0), -1);
	cr_expect_eq(visible_index("0", -1), -1);
}

Test(visible, a_slice_of_a_list_is_found_by_its_number)
{
	char word[64] = "";

	cr_expect(visible_slice(word, sizeof word, "MIG-aa, MIG-bb ,3", 1));
	cr_expect_str_eq(word, "MIG-bb");
	cr_expect(visible_slice(word, sizeof word, "0,MIG-cc", 1));
	cr_expect_str_eq(word, "MIG-cc");
	cr_expect_not(visible_slice(word, sizeof word, "MIG-aa,3", 1), "a whole GPU");
	cr_expect_not(visible_slice(word, sizeof word, "MIG-aa,GPU-bb", 1));
	cr_expect_not(visible_slice(word, sizeof word, "-1,MIG-aa", 1), "the list has ended");
	cr_expect_not(visible_slice(word, sizeof word, "MIG-aa", 1));
	cr_expect_not(visible_slice(word, sizeof word, "MIG-aa", -1));
	cr_expect_not(visible_slice(word, sizeof word, "", 0));
	cr_expect_not(visible_slice(word, sizeof word, NULL, 0));
	cr_expect_not(visible_slice(word, 6, "MIG-aa", 0), "no room");
	cr_expect(visible_slice(word, 7, "MIG-aa", 0));
}
