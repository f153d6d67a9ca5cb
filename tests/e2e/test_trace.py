# SPDX-License-Identifier: Apache-2.0
"""/trace: the Trace Event Format, as Perfetto and Chrome read it (phases X, M, I and flows s, t, f)."""

import json
import re
import subprocess
import sys

import pytest
from harness import ROOT, Daemon, clean_environment, fetch, wait_until

MOMENTS = re.findall(r'^MOMENT\(\w+, (\w+), "(\w+)", "(\w+)", "(.+)"\)$', (ROOT / "daemon/base/moments.def").read_text(), re.M)
LIMIT = 4 << 20

PROGRAM = """
import braze, braze.numpy as np, numpy
x = np.asarray(numpy.linspace(0, 1, 300_000))
for k in range(30):
    y = np.sin(x) ** 2 + np.cos(x * k)
    float(y.sum())
z = x
for k in range(40):
    z = z * 0.5 + np.sqrt(z) * (k + 1) - np.exp(-z)
float(z[7])
print("done", flush=True)
input()
"""


@pytest.fixture(scope="module")
def traced():
    with Daemon(tier=1) as daemon:
        clients = [daemon.popen(PROGRAM, BRAZE_NAME=name) for name in ("heat", 'a "name"\\</script>')]
        for c in clients:
            assert c.stdout.readline() == "done\n"
        wait_until(lambda: daemon.status()["kernels"]["compiles"] > 0)
        status, text = fetch(daemon.status_socket, "/trace")
        assert status == 200
        yield json.loads(text), text, daemon
        for c in clients:
            c.communicate("\n")


def lanes(events):
    """(pid, tid): X events in the order of the file."""
    found = {}
    for e in events:
        if e["ph"] == "X":
            found.setdefault((e["pid"], e["tid"]), []).append(e)
    return found


def check(page):
    """What the format wants, of any trace."""
    events = page["traceEvents"]
    assert set(page) == {"traceEvents", "displayTimeUnit"} and page["displayTimeUnit"] in ("ms", "ns")
    for e in events:
        assert e["ph"] in "XMIstf" and isinstance(e["name"], str) and e["ts"] >= 0
        assert isinstance(e["pid"], int) and isinstance(e["tid"], int)
        assert e["ph"] != "X" or e["dur"] >= 0
        assert e["ph"] not in "stf" or (e["id"] and e["cat"] == "read")
    times = [e["ts"] for e in events if e["ph"] != "M"]
    assert times == sorted(times)
    check_lanes(events)
    return checked_flows(events)


def check_lanes(events):
    """Slices of a lane lie apart or inside each other (a nanosecond is the unit they are rounded to)."""
    for slices in lanes(events).values():
        open_ends = []
        for e in slices:
            end = e["ts"] + e["dur"]
            while open_ends and open_ends[-1] <= e["ts"] + 0.002:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1] + 0.002, e
            open_ends.append(end)


def checked_flows(events):
    flows, slices = {}, {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    for e in events:
        if e["ph"] in "stf":
            flows.setdefault(e["id"], []).append(e)
            # It binds to a slice of its lane that begins there.
            assert (e["pid"], e["tid"], e["ts"]) in slices
    for flow in flows.values():
        kinds = "".join(e["ph"] for e in flow)
        assert re.fullmatch("st*f", kinds), kinds
        assert flow[-1]["bp"] == "e"
    return flows


def test_it_is_what_the_format_says(traced):
    page, text, _ = traced
    flows = check(page)
    assert len(flows) >= 60 and len(text) < LIMIT
    assert any(len(flow) > 2 for flow in flows.values())  # with runs on the way


def test_every_kind_of_moment_is_there(traced):
    page, _, _ = traced
    kinds = {(e["name"], *(set(e["args"]) - {"session"})) for e in page["traceEvents"] if e["ph"] == "X"}
    assert kinds == {(name, number) for _, name, number, _ in MOMENTS}
    assert {(e["pid"], e["tid"]) for e in page["traceEvents"] if e["ph"] == "X" and e["name"] == "run"} == {(2, 1)}


def test_lanes_have_names(traced):
    page, _, _ = traced
    names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in page["traceEvents"] if e["ph"] == "M"}
    assert [names["process_name", pid, 0] for pid in (1, 2, 3)] == ["brazed", "devices", "sessions"]
    assert names["thread_name", 2, 1] == "cpu" and names["thread_name", 1, 1] == "loop"
    sessions = {name.partition(" ")[2] for (what, pid, _), name in names.items() if what == "thread_name" and pid == 3}
    assert sessions == {"heat", 'a "name"\\</script>'}
    used = {(e["pid"], e["tid"]) for e in page["traceEvents"] if e["ph"] == "X"}
    assert used <= {(pid, tid) for what, pid, tid in names if what == "thread_name"}


def test_a_read_leads_to_its_runs_and_its_answer(traced):
    """The flow of a read: from a packet of its session over a device to an answer of the same session."""
    page, _, _ = traced
    at = {}
    for e in page["traceEvents"]:
        if e["ph"] == "X":
            at.setdefault((e["pid"], e["tid"], e["ts"]), set()).add(e["name"])
    for flow in check(page).values():
        first, *steps, last = flow
        assert "packet" in at[3, first["tid"], first["ts"]] and "answer" in at[3, last["tid"], last["ts"]]
        assert first["tid"] == last["tid"]
        assert all(at[s["pid"], s["tid"], s["ts"]] & {"run", "plan"} for s in steps)
    # Every answer to a read is the end of one.
    answers = [e for e in page["traceEvents"] if e["ph"] == "X" and e["name"] == "answer"]
    assert len(answers) == len(check(page)) >= 2 * 31


def test_the_time_of_runs_is_what_the_device_was_busy():
    with Daemon() as daemon:
        daemon.run("import braze.numpy as np\nx = np.ones(2_000_000)\nfor k in range(9):\n    float((np.sin(x) * k).sum())\n")
        page = daemon.get("/trace")
        busy = sum(e["dur"] for e in page["traceEvents"] if e["ph"] == "X" and e["name"] == "run") * 1e-6
        # Less where the daemon heard of several at once: they do not overlap.
        whole = daemon.status()["device_busy_seconds"]
        assert 0.5 * whole <= busy <= 1.001 * whole


def test_it_is_bounded_and_forgets_the_oldest():
    loop = ("import braze, braze.numpy as np\nx = np.ones(10)\nfor k in range(4500):\n    float((x + k)[3])\n")
    with Daemon() as daemon:
        client = daemon.popen(loop + "print('done', flush=True)\ninput()\n")
        assert client.stdout.readline() == "done\n"
        status, text = fetch(daemon.status_socket, "/trace")
        page = json.loads(text)
        slices = [e for e in page["traceEvents"] if e["ph"] == "X"]
        assert status == 200 and len(slices) == 12288 and len(text) < LIMIT
        flows = check(page)
        assert len(flows) > 1000
        # What is kept is the newest: the last read's answer is in it, not long before it was asked for.
        end = next(e["ts"] for e in page["traceEvents"] if e["ph"] == "I")
        assert max(f[-1]["ts"] for f in flows.values()) > end - 60e6
        client.communicate("\n")


def test_nothing_of_arrays_is_in_it(traced):
    _, text, _ = traced
    assert not re.search(r"linspace|\bsin\b|\bexp\b|square", text)


def test_brazectl_trace_prints_it(traced):
    *_, daemon = traced
    done = daemon.ctl("trace")
    assert done.returncode == 0
    check(json.loads(done.stdout))
    assert daemon.ctl("trace", "more").returncode == 2


def test_a_daemon_without_status_keeps_none():
    """--private daemons remember nothing that nobody can ask for; they work."""
    code = "import braze, braze.numpy as np\nprint(float(np.ones(3).sum()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=clean_environment(BRAZE_PRIVATE="1", BRAZE_STATUS_SOCKET=""))
    assert done.returncode == 0 and done.stdout == "3.0\n", done.stderr


def test_the_docs_have_every_moment():
    text = (ROOT / "docs/operators.md").read_text()
    for _, name, number, what in MOMENTS:
        assert re.search(rf"^\| `{name}` \| [^|]+ \| `{number}` \| {re.escape(what)} \|$", text, re.M), name
