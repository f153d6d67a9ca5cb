/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_fixture.h"

#include "future/ticket.h"

TestSuite(ticket, .init = fixture_setup, .fini = fixture_teardown);

Test(ticket, settles_when_every_version_is_stored_or_failed)
{
	struct ticket_list l = {0};
	struct version *v[2] = {version_create(&trace, 8, VERSION_PENDING),
				version_create(&trace, 8, VERSION_PENDING)};
	struct ticket *t = ticket_add(&l, TICKET_DEMAND, 9, v, 2, 2, 0, 0);
	struct err why;

	cr_assert_eq(ticket_find(&l, 9), t);
	cr_assert_null(ticket_find(&l, 8));
	cr_assert_not(ticket_settled(t));
	version_attach(&trace, v[0], storage_create(&trace, 8, HOME_ANY, &err));
	version_store(&trace, v[0]);
	cr_assert_not(ticket_settled(t));
	err_set(&why, E_LOST, "lost");
	version_fail(&trace, v[1], &why);
	cr_assert(ticket_settled(t));
	ticket_remove(&l, t, &trace);
	cr_assert_null(l.first);
}

Test(ticket, what_the_client_is_only_told_of_is_held_but_not_waited_for)
{
	struct ticket_list l = {0};
	struct version *v[2] = {version_create(&trace, 8, VERSION_PENDING),
				version_create(&trace, 8, VERSION_PENDING)};
	struct ticket *t = ticket_add(&l, TICKET_DEMAND, 9, v, 1, 1, 1, 0);

	cr_assert_eq(l.load, 3);
	cr_assert_eq(v[0]->asked, 1);
	cr_assert_eq(v[1]->asked, 0, "no device brings it to the arena for this");
	version_attach(&trace, v[0], storage_create(&trace, 8, HOME_ANY, &err));
	version_store(&trace, v[0]);
	cr_assert(ticket_settled(t));
	version_ref(v[1]);
	ticket_remove(&l, t, &trace);
	cr_assert_eq(l.load, 0);
	cr_assert_eq(v[1]->refs, 1);
	version_unref(&trace, v[1]);
}
