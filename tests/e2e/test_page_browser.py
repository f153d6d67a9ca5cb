# SPDX-License-Identifier: Apache-2.0
"""The status page in a real browser: no error of a script, many rows, hostile names, keyboard, names for screen
readers, a phone's width.  With BRAZE_SCREENSHOTS=FOLDER its pictures are kept there (docs/page-*.png).

The daemon's own page is served with JSON made here, so that there are GPUs, 1000 kernels, an hour of samples."""

import contextlib
import functools
import http.server
import json
import math
import os
import pathlib
import re
import socket
import subprocess
import threading
import time

import browser
import pytest
from harness import ROOT, Daemon, find_ctl

pytestmark = pytest.mark.skipif(not browser.find(), reason="no browser: deploy/setup.sh --long installs one")

FIELDS = re.findall(r'^HISTORY\((\w+), "', (ROOT / "daemon/ctl/history.def").read_text(), re.M)
HOSTILE = "<img src=x onerror='window.hurt=1'><script>window.hurt=1</script>\"&"
NAMES = ("heat_equation.py", "training", "kmeans.ipynb", "sobel.py", "nbody", "option prices", "climate_model_of_somebody_who_likes_names.ipynb")
OPERATIONS = ("sin, square, cos, add, sum", "multiply, add", "exp, sqrt, divide", "maximum, subtract", "matmul of float64")
PATHS = re.findall(r'"", "([\w.]+)"|which=\S+", "([\w.]+)"|tier=\S+", "([\w.]+)"|by=\S+", "([\w.]+)"',
                   (ROOT / "daemon/ctl/stats.def").read_text())


def sessions(n):
    users = ("ada", "bob", "grace")
    rows = []
    for k in range(n):
        doing = ("runs on cuda:0", f"waits for cuda:0, which works for 1 ({NAMES[0]})", "", "is planned: 312 operations")[k % 4]
        name = HOSTILE if k == 5 else NAMES[k % len(NAMES)] + (f" {k}" if k >= len(NAMES) else "")
        rows.append({"session": k + 1, "pid": 4000 + k, "uid": 1000 + k % 3, "user": users[k % 3], "name": name,
                     "program": "python3", "file": f"/home/ada/{NAMES[k % 7]}", "job": "", "environment": "/home/ada/venv",
                     "age_seconds": 61.0 * (k + 1) ** 2, "queue": k % 3, "doing": doing, "arrays": 7 * k + 1,
                     "bytes": (1 << 20) * (1 + k * 37 % 611), "peak_bytes": 1 << 30, "pending": k % 5, "ops": 1234 * k + 7,
                     "dead_ops": 3, "near": 99 * k, "demands": 40 * k, "device_seconds": 3.7 * k + time.time() % 1e5 * (0.9 if k == 0 else 0.02),
                     "queue_wait_seconds": 0.02 * k, "plan_hits": 50 * k, "plan_misses": 3, "kernel_hits": 9, "kernel_misses": 2,
                     "fusion_refusals": k})
    return rows


def kernels(n):
    states = ("ready",) * 8 + ("compiling", "absent")
    return [{"id": k + 1, "state": "quarantined" if k == 3 else "failed" if k == 4 else states[k % 10], "strikes": 2 * (k == 3),
             "blame": "step 2 of plan 7, for heat_equation.py on cuda:0" if k == 3 else "", "tier": 1, "arch": 90 * (k % 2), "registers": 32,
             "spill_bytes": 64 * (k == 6), "runs": 1 + 977 * k % 5000, "elements": 10 ** (3 + k % 6), "geometry": "",
             "busy_seconds": 400 / (k + 1) ** 1.5, "compile_seconds": 0.1 + k % 7 / 10, "from_disk": k % 3 == 0, "origin_session": 1,
             "operations": HOSTILE if k == 7 else OPERATIONS[k % 5], "origin": f"heat_equation.py /home/ada/heat_equation.py:{k + 3}"}
            for k in range(n)]


def samples(n_sessions):
    rows, total = [], dict.fromkeys(FIELDS, 0.0)
    begin = time.time() - 3600
    for k in range(720):
        wave = 0.5 + 0.45 * math.sin(k / 40) * math.cos(k / 17) if n_sessions else 0
        total.update(time=begin + 5 * k, clients=min(n_sessions, k // 30), queue=round(6 * wave) if n_sessions else 0,
                     client_bytes=wave * 4e9 * bool(n_sessions), arena_bytes=5e9 * wave, device_used_bytes=2e10 * min(1, k / 500) * bool(n_sessions), kernels=min(k, 300))
        for name, much in (("cpu_busy_seconds", 2 * wave), ("device_busy_seconds", 4.4 * wave * (k > 100)), ("loop_seconds", 0.1 * wave),
                           ("runs", 900 * wave), ("plan_hits", 800 * wave), ("plan_misses", 40 * wave * (k % 60 < 9)),
                           ("compiles", wave), ("compile_seconds", 0.3 * wave * (k % 60 < 9))):
            total[name] += much
        rows.append([total[name] for name in FIELDS])
    return rows


def status(n):
    found = {}
    for path in (next(filter(None, p)) for p in PATHS):
        at = found
        *outer, last = path.split(".")
        for part in outer:
            at = at.setdefault(part, {})
        at[last] = 0
    device = {"model": "", "arch": 0, "units": 0, "worker_pid": 12, "worker_deaths": 0, "memory_rate": 0, "upload_rate": 0,
              "download_rate": 0, "registered_bytes": 0, "beside_steps": 0, "text": "", "memory_bytes": 0, "used_bytes": 0, "state": "usable"}
    gpu = {"name": "cuda:0", "model": "NVIDIA H100 80GB HBM3", "arch": 90, "units": 132, "memory_bytes": 77 << 30, "used_bytes": (19 << 30) * bool(n)}
    busy = time.time() % 1e5 * bool(n)
    found.update(version="0.1.0", pid=77, socket="/run/braze/braze-1.sock", cache_dir="/var/cache/braze", compiler="/usr/bin/gcc",
                 device="auto", worker_pid=12, fusion_refusals={}, uptime_seconds=93784.2, clients_count=n, arrays_count=80 * n,
                 client_bytes=3.1e8 * n, runs=51234 * n, devices=[
                     {**device, "name": "cpu", "runs": 812 * n, "busy_seconds": 0.31 * busy},
                     {**device, **gpu, "runs": 50422 * n, "busy_seconds": 0.87 * busy}])
    found["plans"].update(hits=50000 * n, misses=310 * n)
    found["kernels"].update(count=310 * bool(n), compiles=200 * bool(n), disk_hits=110 * bool(n), quarantined=int(n > 1))
    found.update(device_memory_bytes=77 << 30, device_used_bytes=(19 << 30) * bool(n), worker_deaths_count=2 * (n > 1))
    return found


def published(n):
    if n < 2:
        return []
    return [{"uid": 1000 + k % 3, "user": ("ada", "bob", "grace")[k % 3], "name": name, "access": access, "number": 100, "dtype": "float64", "shape": shape,
             "bytes": 8 * math.prod(shape), "version": 3 * k + 1, "holders": k, "opened": 17 * k, "session": k}
            for k, (name, access, shape) in enumerate([("prices", "nobody", [1000, 250]), ("w" * 60, "key", [80_000_000]), ("grid.v2", "group", [])])]


EVERY = b"const EVERY_MS = 2000;"


@functools.cache
def the_page():
    """Of a daemon, by brazectl page: text and policy.  It asks five times as often, so that more turns go by in a test."""
    with Daemon() as daemon:
        server = subprocess.Popen([find_ctl(), "--socket", daemon.status_socket, "page"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        host, port, path = re.fullmatch(r"http://([\d.]+):(\d+)(/\w+/)\n", server.stdout.readline()).groups()
        s = socket.create_connection((host, int(port)))
        s.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        whole = b"".join(iter(lambda: s.recv(65536), b""))
        s.close()
        server.kill()
    head, page = whole.split(b"\r\n\r\n", 1)
    assert page.count(EVERY) == 1
    return page.replace(EVERY, b"const EVERY_MS = 400;"), re.search(rb"Content-Security-Policy: (.*?)\r", head)[1].decode()


class Fake:
    """The daemon's page with such JSON behind it; what was asked for."""

    def __init__(self, n_sessions, n_kernels):
        self.page, self.policy = the_page()
        self.asked, self.down = [], False
        past = {"every_seconds": 5, "kept": 720, "fields": FIELDS}
        found = samples(n_sessions)
        events = [{"number": k, "time": time.time() - 60 * (12 - k), "topic": "session", "text": f"{k} ({NAMES[k % 7]}, pid {4000 + k}) connected"}
                  for k in range(12 if n_sessions else 1)]
        self.answers = {
            "/status": lambda _: status(n_sessions), "/clients": lambda _: {"clients": sessions(n_sessions)},
            "/kernels": lambda _: {"kernels": kernels(n_kernels)},
            "/published": lambda _: {"published": published(n_sessions)}, "/events": lambda _: {"events": events},
            "/history": lambda q: {**past, "samples": [r for r in found if r[0] > float(q.partition("=")[2] or 0)]},
            "/kernels/8": lambda _: {**kernels(8)[7], "key": "%0 = load", "source": HOSTILE, "reasons": [HOSTILE], "error": "", "geometries": []}}
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path, _, query = self.path.partition("?")
                fake.asked.append(path)
                text = fake.page if path == "/" else json.dumps(fake.answers[path](query)).encode() if path in fake.answers else b"{}"
                self.send_response(502 if fake.down else 200 if path == "/" or path in fake.answers else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8" if path == "/" else "application/json")
                self.send_header("Content-Security-Policy", fake.policy)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()

    def turns(self, n=2):
        """Wait until the page has asked so often again, and shown it."""
        had = self.asked.count("/status")
        end = time.monotonic() + 20
        while self.asked.count("/status") <= had + n:
            assert time.monotonic() < end
            time.sleep(0.05)


WINDOWS = {"desk": ((1400, 1000), {}), "phone": ((390, 844), {"phone": True}), "dark": ((1400, 1000), {"dark": True})}


@pytest.fixture(scope="module")
def windows():
    """Browsers, each started once: windows(kind) lends one, empty before and after."""
    made = {}

    @contextlib.contextmanager
    def lend(kind):
        if kind not in made:
            size, options = WINDOWS[kind]
            made[kind] = everything.enter_context(browser.Browser(*size, **options))
        made[kind].errors()  # those of before
        try:
            yield made[kind]
        finally:
            made[kind].open("about:blank")

    with contextlib.ExitStack() as everything:
        yield lend


READY = "return document.querySelectorAll('#device-list tbody tr').length > 0 && document.querySelector('.plot path.one').getAttribute('d')"


def until(window, script, seconds=20):
    end = time.monotonic() + seconds
    while not (value := window.run(script)):
        assert time.monotonic() < end, script
        time.sleep(0.1)
    return value


def keep(window, name, most):
    folder = os.environ.get("BRAZE_SCREENSHOTS")
    if folder:
        window.run("scrollTo(0, 0)")
        window.shoot(pathlib.Path(folder) / f"page-{name}.png", most)


def looks_right(window, n):
    assert window.run("return document.documentElement.scrollWidth <= innerWidth")
    assert window.run("return document.querySelectorAll('#sessions tbody tr').length") == n
    # Nothing that is shown lies outside of what holds it.
    assert window.run("return [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length") == 0
    assert window.run("return document.body.innerText.includes('undefined') || document.body.innerText.includes('NaN')") is False
    assert window.run("return document.querySelectorAll('#published tbody tr').length") == len(published(n))
    assert window.errors() == []


@pytest.mark.parametrize("n", [0, 1, 20])
def test_it_fits_and_nothing_goes_wrong(n, windows):
    with Fake(n, 300 if n else 0) as fake, windows("desk") as desk, windows("phone") as phone:
        for window in desk, phone:
            window.open(fake.url)
            until(window, READY)
        fake.turns()
        for window, width, most in (desk, 1400, 1700), (phone, 390, 2600):
            looks_right(window, n)
            keep(window, f"{n}-{width}", most)


def test_1000_kernels_and_200_sessions(windows):
    with Fake(200, 1000) as fake, windows("desk") as window:
        window.open(fake.url)
        until(window, READY)
        assert window.run("return document.querySelectorAll('#kernel-list tbody tr').length") == 25
        window.run("for (const b of document.querySelectorAll('.more-rows')) if (!b.hidden) b.click()")
        assert window.run("return ['sessions', 'kernel-list'].map(i => document.querySelectorAll(`#${i} tbody tr`).length)") == [200, 1000]
        row = window.run("window.kept = document.querySelector('#kernel-list tbody tr:nth-child(500)'); return kept.textContent")
        spent = window.run("const began = performance.now(); drawLists(); drawTiles(); drawOwners(); drawWorth(); return performance.now() - began")
        assert spent < 1000, f"{spent} ms to draw it again"
        fake.turns()
        assert window.run("return kept.isConnected && kept.textContent") == row  # changed in place
        window.run("const s = document.getElementById('search'); s.value = 'ada kmeans'; s.oninput()")
        found = window.run("return [...document.querySelectorAll('#sessions tbody tr')].map(r => r.innerText)")
        assert 0 < len(found) < 40 and all("kmeans" in r for r in found)
        window.run("const s = document.getElementById('search'); s.value = 'grid'; s.oninput()")
        assert window.run("return [...document.querySelectorAll('#published tbody tr')].map(r => r.innerText.split(/\\s/)[0])") == ["grid.v2"]
        assert "match" in window.run("return document.querySelector('#sessions caption').textContent")
        assert window.errors() == []


def test_hostile_names_are_only_text(windows):
    with Fake(20, 300) as fake, windows("desk") as window:
        window.open(fake.url)
        until(window, READY)
        assert window.run("return document.body.innerText.split(\"onerror='window.hurt=1'\").length - 1") >= 2
        window.run("[...document.querySelectorAll('#kernel-list tbody button')].find(b => b.textContent.includes('<img')).click()")
        until(window, "return document.querySelectorAll('#dialog details').length === 2")
        window.run("for (const d of document.querySelectorAll('#dialog details')) d.open = true")
        assert window.run("return document.querySelector('#dialog pre:last-child').textContent") in ("%0 = load", HOSTILE)
        assert window.run("return [window.hurt === undefined, document.images.length, document.scripts.length]") == [True, 0, 1]
        # And should a name become markup after all, its script does not run.
        window.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hurt=1\">')")
        time.sleep(0.5)
        assert window.run("return window.hurt === undefined")
        assert window.errors() != []  # the policy's word


def test_it_asks_only_the_daemon_and_sources_only_when_asked(windows):
    with Fake(20, 300) as fake, windows("desk") as window:
        window.open(fake.url)
        until(window, READY)
        fake.turns()
        assert set(fake.asked) == {"/", "/status", "/clients", "/kernels", "/published", "/history", "/events"}
        assert 2 <= fake.asked.count("/status") <= 8
        entries = window.run("return performance.getEntriesByType('resource').map(e => e.name)")
        assert all(e.startswith(fake.url) for e in entries)
        window.run("document.getElementById('pause').click()")
        time.sleep(1)
        before = len(fake.asked)
        time.sleep(2)
        assert len(fake.asked) == before


def test_a_daemon_that_is_gone_is_told_and_comes_back(windows):
    with Fake(1, 5) as fake, windows("desk") as window:
        window.open(fake.url)
        until(window, READY)
        fake.down = True
        until(window, "return !document.getElementById('alarm').hidden")
        assert "No answer from the daemon" in window.run("return document.getElementById('alarm').innerText")
        fake.down = False
        until(window, "return document.getElementById('alarm').hidden")


TAB, ENTER, ESCAPE, LEFT, HOME = "\ue004", "\ue007", "\ue00c", "\ue012", "\ue011"


def test_it_goes_by_keyboard(windows):
    with Fake(20, 60) as fake, windows("desk") as window:
        window.open(fake.url)
        until(window, READY)
        order = []
        for _ in range(11):
            window.press(TAB)
            order.append(window.run("const e = document.activeElement; return e.id || e.textContent"))
        assert order[:3] == ["Skip to the sessions", "search", "pause"] and order[3:10] == [
            "At a glance", "Last hour", "Sessions", "Memory", "Devices", "Kernels", "Events"]
        # A chart by arrow keys.
        window.run("document.querySelector('.plot').focus()")
        window.press(LEFT)
        said = until(window, "return document.querySelector('.said').textContent")
        window.press(HOME)
        assert re.search(r"CPU [\d.]+\s%, GPUs [\d.]+\s%", said)
        assert window.run("return document.querySelector('.said').textContent") != said
        # A title sorts, and keeps the focus when rows are drawn again.
        window.run("document.querySelector('#sessions thead button').focus()")
        window.press(ENTER)
        assert window.run("return document.querySelector('#sessions th').getAttribute('aria-sort')") == "ascending"
        names = window.run("return [...document.querySelectorAll('#sessions tbody th')].map(e => e.textContent)")
        assert len(names) == 20 and names == window.run("return arguments[0], [...document.querySelectorAll('#sessions tbody th')].map(e => e.textContent).sort((a, b) => a.localeCompare(b))")
        # A dialog takes the focus, Escape gives it back, across turns.
        window.run("document.querySelector('#sessions tbody button').focus()")
        window.press(ENTER)
        until(window, "return document.getElementById('dialog').open")
        assert window.run("return document.getElementById('dialog').contains(document.activeElement)")
        fake.turns()
        window.press(ESCAPE)
        until(window, "return !document.getElementById('dialog').open")
        assert window.run("return document.activeElement === document.querySelector('#sessions tbody button')")


def test_screen_readers_find_their_way(windows):
    """Every part and everything that can be used has a name; tables have heads and captions."""
    with Fake(20, 60) as fake, windows("desk") as window:
        window.open(fake.url)
        until(window, READY)
        nodes = window.call("POST", "/goog/cdp/execute", {"cmd": "Accessibility.getFullAXTree", "params": {}})["nodes"]
        seen = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n["ignored"]]
        roles = {role for role, _ in seen}
        assert {"banner", "navigation", "main", "search", "region", "table", "columnheader", "rowheader"} <= roles
        for role, name in seen:
            assert name.strip() or role not in {"button", "link", "searchbox", "region", "navigation", "columnheader", "rowheader",
                                                "table", "image", "img", "dialog"}, role
        charts = [name for role, name in seen if role in ("image", "img")]
        assert len(charts) == 6 and all(": now " in name for name in charts)
        assert window.run("return [...document.querySelectorAll('h1,h2,h3')].map(e => +e.tagName[1]).every((v, k, a) => !k || v <= a[k - 1] + 1)")
        assert window.run("return document.documentElement.lang") == "en"


CONTRAST = """
const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255,255,255)'; };
const bad = [];
for (const e of document.querySelectorAll('p, a, button, th, td, span, li, caption, h1, h2, h3, label')) {
  if (!e.innerText || e.closest('[hidden]') || !e.offsetParent) continue;
  const a = light(getComputedStyle(e).color), b = light(ground(e)), c = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (c < 4.5) bad.push(e.tagName + ' ' + e.className + ' ' + e.innerText.slice(0, 30) + ' ' + c.toFixed(2));
}
return bad;
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(dark, windows):
    with Fake(20, 60) as fake, windows("dark" if dark else "desk") as window:
        window.open(fake.url)
        until(window, READY)
        assert window.run("return matchMedia('(prefers-color-scheme: dark)').matches") == dark
        assert window.run(CONTRAST) == []


def test_with_a_daemon_itself(windows):
    with Daemon() as daemon:
        client = daemon.popen("import braze, braze.numpy as np\nx = np.ones(100_000)\nbraze.publish(x, 'prices')\n"
                              "print(float((np.sin(x) + x).sum()), flush=True)\ninput()\n", BRAZE_NAME="heat")
        client.stdout.readline()
        server = subprocess.Popen([find_ctl(), "--socket", daemon.status_socket, "page"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        with windows("desk") as window:
            window.open(server.stdout.readline().strip())
            until(window, READY)
            assert "heat" in window.run("return document.getElementById('sessions').innerText")
            cells = until(window, "return [...document.querySelectorAll('#published tbody tr')].map(r => r.innerText)")[0].split("\t")
            assert cells[0] == "prices" and cells[2] == "781\u00a0KiB" and cells[4:6] == ["1", "its user"], cells
            assert cells[3] in "12", cells  # the publisher, and perhaps still its array
            window.run("document.querySelector('#kernel-list tbody button').click()")
            until(window, "return document.querySelectorAll('#dialog details').length > 0")
            assert window.errors() == []
        server.kill()
        client.communicate("\n")
