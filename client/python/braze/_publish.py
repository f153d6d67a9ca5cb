# SPDX-License-Identifier: Apache-2.0
"""Arrays that processes, users and languages share: published by a name, opened by it."""

import collections
import contextlib
import threading

from braze import _core

Published = collections.namedtuple("Published", "name version copied key")
Published.__doc__ = """What `braze.publish` did.

name: for `braze.open`; "key:..." where the key opens it.  version: of the name, from 1 on.
copied: bytes, 0 for an array with memory of its own.  key: "" unless to="key".
"""


def publish(array, name, *, to=None):
    """Let other processes open the array's present value by a name, and read it where it lies.

    The value is waited for.  It is copied once, unless it has memory of its own: results of
    64 MiB and more have, and what is computed inside ``braze.shared()``; a view of a part of a
    larger array is copied always.  Nobody can write what is published: writing the array goes on
    with a copy of it.  Published again under the same name, an array is the name's next version,
    which those get who open it from then on.

    name: 1 to 63 letters, digits, dots, underscores, hyphens; of this user.
    to: "nobody" but this user's processes, as is a new name's default; "user:NAME"; "group:NAME";
    "key": whoever has the key of the result.  None: as the name's last version.

    This process keeps the version until it publishes the next one, calls ``unpublish`` or ends;
    who has opened it keeps it beyond that.  Returns a `Published`.
    """
    from braze import numpy

    if not isinstance(name, str):
        raise TypeError(f"publish(array, name): a name is a str, not {type(name).__name__}")
    version, copied, key = _core.publish(numpy.asarray(array), name, to)
    return Published(f"key:{key}" if key else name, version, copied, key)


def unpublish(name):
    """The name ends; who has opened its versions keeps them.  LookupError: there is none."""
    _core.unpublish(name)


def open(name):  # noqa: A001
    """The newest version of what is published as "NAME", "USER/NAME" or "key:KEY".

    A read-only array that lies in the publisher's memory: nothing is copied, and all operations
    read it there.  LookupError: nothing of this name is published to this user.
    """
    return _core.open(name)[0]


_lock = threading.Lock()
_users = 0


def _count(change):
    global _users
    with _lock:
        _users += change
        _core.set_shared(_users > 0)


@contextlib.contextmanager
def shared():
    """Context: what is computed here gets memory of its own, and is published without a copy.

    Of the session, which the process's threads share.  Small results take a page and a round trip
    each.  A user has at most 256 such arrays; the others are copied when they are published, and
    so is data that comes from this process (``asarray`` of a list or of a NumPy array).
    """
    _count(1)
    try:
        yield
    finally:
        _count(-1)
