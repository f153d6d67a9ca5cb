# SPDX-License-Identifier: Apache-2.0
"""Another program goes on while sessions share arrays: what was published can be opened, by whom it
could be before, and what lies beside the arenas lies there still."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import raw
from harness import Daemon, kill9, wait_until
from raw import Raw, Trace
from test_drain import descriptors, drain, ten_in_a_row
from test_published import (GROUP, HEAD, KEY, ROOT_ONLY, STRANGER, Lines, answer, as_user, code_of,
                            numbers, opened, publish, publish_each_way, refusal)

E_UNPUBLISHED = 28
LARGE = 8 << 20  # doubles: 64 MiB, which have memory of their own
ROWS = ("uid", "name", "access", "number", "dtype", "shape", "bytes", "version",
        "holders", "opened", "session")


def published(daemon):
    rows = daemon.get("/published")["published"]
    return sorted(({k: r[k] for k in ROWS if k in r} for r in rows), key=lambda r: r["name"])


def test_who_published_and_who_reads_go_on(daemon):
    publisher, reader = Lines(daemon), Lines(daemon)
    assert publisher("setattr(braze, 'a', np.arange(1000.0) + 1) or braze.publish(braze.a, 'x').version") == "1"
    assert publisher("braze.publish(np.zeros((0, 3)), 'none').version") == "1"
    assert publisher("braze.publish(np.arange(12).reshape(3, 4).T, 'turned').version") == "1"
    assert reader("setattr(braze, 'b', braze.open('x')) or braze.b[:2].tolist()") == "[1.0, 2.0]"
    was, rows = numbers(daemon), published(daemon)
    assert [r["name"] for r in rows] == ["none", "turned", "x"] and rows[2]["holders"] > 1
    drain(daemon)
    assert numbers(daemon) == was and published(daemon) == rows
    # The reader has what it opened, computes with it and cannot write it.
    assert reader("float((braze.b * 2).sum())") == "1001000.0"
    assert reader("braze.b.__setitem__(0, 5)").startswith("ValueError")
    # The publisher's is its own to write: by a copy, which nobody else sees.
    assert publisher("braze.a.__setitem__(0, 7.0) or float(braze.a[0])") == "7.0"
    assert publisher("braze.publish(braze.a, 'x').version") == "2"
    assert reader("(float(braze.b[0]), float(braze.open('x')[0]), float(braze.b[999]))") == "(1.0, 7.0, 1000.0)"
    other = Lines(daemon)
    assert other("(braze.open('none').shape, braze.open('turned').tolist()[3])") == "((0, 3), [3, 7, 11])"
    drain(daemon)
    # The first version goes with its last reader, the names with who published them.
    assert reader("delattr(braze, 'b') or braze.flush()") == "None"
    kill9(publisher.client.pid)
    kill9(reader.client.pid)
    kill9(other.client.pid)
    wait_until(lambda: numbers(daemon) | {"names": 0, "bytes": 0} == numbers(daemon), 20, "nothing")


def test_readers_alone_keep_a_name(daemon):
    publisher, reader = Lines(daemon), Lines(daemon)
    assert publisher("braze.publish(np.arange(1000.0), 'x').version") == "1"
    assert reader("setattr(braze, 'b', braze.open('x')) or float(braze.b[9])") == "9.0"
    kill9(publisher.client.pid)
    wait_until(lambda: daemon.status()["clients_count"] == 1)
    rows = published(daemon)
    assert rows[0]["session"] == 0
    drain(daemon)
    assert published(daemon) == rows
    assert Lines(daemon)("float(braze.open('x')[999])") == "999.0"
    assert reader("delattr(braze, 'b') or braze.flush()") == "None"
    wait_until(lambda: numbers(daemon) | {"names": 0, "bytes": 0} == numbers(daemon), 20, "nothing")


BESIDE = HEAD + f"""
n = {LARGE}
want = numpy.arange(n) % 1000.0
have = np.asarray(want) * 2  # it lies beside the arena
kept = have[5::1000]
copy = have.copy()
later = have + 1
with braze.shared():
    small = np.arange(100.0) * 3
    soon = np.arange(50.0) * 4
braze.wait(have); braze.wait(small); braze.wait(kept)
spare = np.ones(n) + 1; braze.wait(spare); del spare; braze.flush()
print("ready", flush=True)
for line in sys.stdin:
    if line == "end\\n":
        break
    assert float(have[999]) == 1998.0
    print("ready", flush=True)
want *= 2
numpy.testing.assert_array_equal(numpy.asarray(have), want)
numpy.testing.assert_array_equal(numpy.asarray(kept), want[5::1000])
numpy.testing.assert_array_equal(numpy.asarray(small), numpy.arange(100.) * 3)
numpy.testing.assert_array_equal(numpy.asarray(later), want + 1)
have += 5
assert float(have[999]) == 2003.0 and float(copy[999]) == 1998.0
assert braze.publish(soon, 'soon').copied == 0  # it was asked for where others can read it
assert braze.publish(copy, 'large').copied == 0
assert float(braze.open('large')[999]) == 1998.0
print("good")
"""


def test_large_arrays_stay_where_they_are(daemon):
    """Ten programs in a row: nothing is copied, and no descriptor is left over."""
    client = daemon.popen(BESIDE, BRAZE_NO_START="1")
    assert client.stdout.readline() == "ready\n", client.communicate()
    was, row = numbers(daemon), daemon.clients()[0]
    assert was["bytes"] >= 8 * LARGE
    assert daemon.get("/limits")["users"][0]["bytes"] >= 8 * LARGE
    before = ten_in_a_row(daemon, client)
    # Spare memory goes when nobody takes it for a while; what has a value does not.
    wait_until(lambda: len(descriptors(daemon.pid)) <= len(before), 20, "the same descriptors")
    assert set(descriptors(daemon.pid)) == set(before)
    assert numbers(daemon)["bytes"] <= was["bytes"]
    assert daemon.clients()[0]["bytes"] == row["bytes"]
    out, err = client.communicate("end\n", timeout=120)
    assert (client.returncode, out) == (0, "good\n"), out + err + daemon.log_text()[-2000:]
    wait_until(lambda: numbers(daemon)["bytes"] == 0, 20, "nothing")


def test_the_quota_counts_what_lies_beside_the_arenas():
    with Daemon(quota_bytes=512 << 20) as daemon:
        publisher, reader = Lines(daemon), Lines(daemon)
        assert publisher(f"braze.publish(np.ones({32 << 20}), 'x').copied") == "0"
        assert reader("setattr(braze, 'b', braze.open('x')) or float(braze.b[0])") == "1.0"
        drain(daemon)
        assert publisher(f"float((np.ones({36 << 20}) + 1)[1])").startswith("MemoryError")
        assert publisher("braze.unpublish('x')") == "None"
        drain(daemon)
        assert publisher(f"float((np.ones({36 << 20}) + 1)[1])").startswith("MemoryError")
        assert reader("delattr(braze, 'b') or braze.flush()") == "None"
        wait_until(lambda: numbers(daemon)["bytes"] == 0)
        assert publisher(f"float((np.ones({36 << 20}) + 1)[1])") == "2.0"


@pytest.mark.parametrize("cancel", (False, True))
def test_waits_to_publish_go_over(daemon, cancel):
    """Of what takes longer than running work is waited for: it begins again, in its own memory."""
    with Raw(daemon.socket) as c:
        t = Trace().full(1, [1 << 20], 2.0)
        for i in range(1, 100):
            t.op("SIN", i + 1, [i])
        c.request(t.message(), raw.publish(1, 100, "x", access=KEY))
        wait_until(lambda: daemon.status()["jobs_in_flight_count"], 20, "work")
        if cancel:
            c.request(raw.cancel(1))
        drain(daemon)
        reply = c.receive()
        if cancel and reply.kind == "failure":
            c.request(raw.publish(1, 100, "x", access=KEY))
            reply = c.receive()
        assert reply.kind == "published" and len(reply.fields[4][0]) == 32
        assert reply.fields.get(3, [0]) == [0]  # it was not copied
        assert opened(c, array=200)[0].kind == "opened"


PUBLISHER = HEAD + """
kept = numpy.arange(200_000.0)
have = np.asarray(kept)
print("ready", flush=True)
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
turns = 0
while not over.is_set():
    turns += 1
    have[turns % 1000] = turns
    have = have + 1
    kept[turns % 1000] = turns
    kept = kept + 1
    assert braze.publish(have, "x").version == turns
    if turns % 7 == 0:
        braze.publish(have[:turns % 5], "short")
    if turns % 50 == 0:
        numpy.testing.assert_array_equal(numpy.asarray(have), kept)
numpy.testing.assert_array_equal(numpy.asarray(have), kept)
print("turns", turns)
"""
READER = HEAD + """
print("ready", flush=True)
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
turns, before, held = 0, 0, []
while not over.is_set():
    try:
        x = braze.open("x")
    except LookupError:
        continue
    # The last 100 000 numbers tell which version it is, each of them.
    n = int(x[199_999]) - 199_999
    assert n >= before, (n, before)
    numpy.testing.assert_array_equal(numpy.asarray(x[100_000:]), numpy.arange(100_000.0, 200_000) + n)
    assert float((x[100_000:] * 2 - x[100_000:]).max()) == 199_999.0 + n
    held.append((n, x)); held = held[-20:]
    for n, x in held[::7]:
        assert float(x[150_000]) == 150_000.0 + n
    turns += 1; before = held[-1][0]
print("turns", turns)
"""


def test_at_work_one_publishes_and_others_read(daemon):
    clients = [daemon.popen("import threading\n" + text, BRAZE_NO_START="1")
               for text in (PUBLISHER, READER, READER)]
    for c in clients:
        assert c.stdout.readline() == "ready\n"
    for _ in range(5):
        time.sleep(0.3)
        drain(daemon)
    for c in reversed(clients):
        out, err = c.communicate("over\n", timeout=120)
        assert c.returncode == 0, out + err + daemon.log_text()[-3000:]
        assert int(out.split()[1]) > 0
    assert daemon.status()["worker_deaths_count"] == 0
    wait_until(lambda: numbers(daemon) | {"names": 0, "bytes": 0} == numbers(daemon), 20, "nothing")


@ROOT_ONLY
def test_access_stays_as_it_was():
    def code(**who):
        return code_of(daemon, **who)

    with Daemon() as daemon:
        os.chmod(daemon.folder, 0o755)
        os.chmod(daemon.socket, 0o666)
        theirs = {"owner": 1}  # of user 0
        with Raw(daemon.socket) as c:
            key = publish_each_way(c)
            drain(daemon)
            for groups, may in (([], 1), ([4711], 2)):
                codes = [as_user(STRANGER, groups, code(label=n, **theirs))
                         for n in ("own", "user", "group", "key")]
                assert codes == [E_UNPUBLISHED, 0, 0 if may == 2 else E_UNPUBLISHED, E_UNPUBLISHED]
            assert as_user(STRANGER, [], code(key=key)) == 0
            assert as_user(STRANGER, [], code(key=key[:-1] + "x")) == E_UNPUBLISHED
            # The next version has the key and the access of the one before.
            assert publish(c, "key").fields[4][0].decode() == key
            assert answer(c, raw.publish(3, 0, "own")).kind == "published"
            assert refusal(c, raw.publish(3, 0, "own")) == E_UNPUBLISHED


@ROOT_ONLY
def test_who_had_connected_keeps_its_groups():
    told, heard = os.pipe()
    waited, woken = os.pipe()

    def ask():
        with Raw(daemon.socket) as c:
            first = answer(c, raw.open_published(5, 9, "x", owner=1)).kind
            os.write(heard, b"1")
            os.read(waited, 1)
            return first, answer(c, raw.open_published(6, 10, "x", owner=1)).kind

    with Daemon() as daemon, ThreadPoolExecutor(1) as pool:
        os.chmod(daemon.folder, 0o755)
        os.chmod(daemon.socket, 0o666)
        with Raw(daemon.socket) as c:
            c.request(Trace().full(1, [4], 2.0).message())
            publish(c, "x", access=GROUP, number_=4711)
            member = pool.submit(as_user, STRANGER, [17, 4711], ask)
            os.read(told, 1)
            drain(daemon)
            os.write(woken, b"1")
            assert member.result(60) == ("opened", "opened")
    for fd in (told, heard, waited, woken):
        os.close(fd)
