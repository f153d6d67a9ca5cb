# SPDX-License-Identifier: Apache-2.0
"""The status page without a browser: what it is made of, the JSON that it asks for, and who may reach it by
brazectl page."""

import http.client
import json
import re
import socket
import subprocess
import time
import urllib.parse

import pytest
from harness import ROOT, Daemon, fetch, find_ctl, wait_until

PAGE = ROOT / "daemon/ctl/page"
SCRIPT = (PAGE / "page.js").read_text()
HISTORY = re.findall(r'^HISTORY\((\w+), "', (ROOT / "daemon/ctl/history.def").read_text(), re.M)


@pytest.fixture(scope="module")
def daemon():
    with Daemon() as daemon:
        daemon.run("import braze.numpy as np\nx = np.ones(100_000)\nfloat((np.sin(x) + x).sum())\n")
        yield daemon


def answer(status_socket, path, method="GET"):
    """(status, header, text)"""
    s = socket.socket(socket.AF_UNIX)
    s.connect(status_socket)
    s.sendall(f"{method} {path} HTTP/1.0\r\nHost: braze\r\n\r\n".encode())
    reply = http.client.HTTPResponse(s)
    reply.begin()
    text = reply.read().decode()
    s.close()
    return reply.status, reply.headers, text


# ---- What it is made of ----

def test_the_page_is_one_file_and_asks_nobody_else(daemon):
    status, header, text = answer(daemon.status_socket, "/")
    assert status == 200 and header["Content-Type"] == "text/html; charset=utf-8"
    assert len(text) < 100_000
    assert (PAGE / "page.css").read_text() in text and SCRIPT in text
    assert not re.search(r"https?://|//cdn|@import|url\(", text.replace("http://www.w3.org/2000/svg", ""))
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\S+", text) == [
        '<link rel="icon" href="data:,">']
    assert "@nonce@" not in text and "@page" not in text


def test_only_its_own_script_runs(daemon):
    """A policy with a number that the text's script and style carry, another one for each answer."""
    numbers = set()
    for _ in range(3):
        _, header, text = answer(daemon.status_socket, "/")
        policy = dict(p.strip().split(" ", 1) for p in header["Content-Security-Policy"].split(";"))
        number = re.fullmatch(r"'nonce-([0-9a-f]{32})'", policy["script-src"])[1]
        assert policy["style-src"] == policy["script-src"] and policy["default-src"] == "'none'"
        assert policy["connect-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
        assert text.count(f'nonce="{number}"') == 2 == text.count("nonce=")
        numbers.add(number)
    assert len(numbers) == 3 and "0" * 32 not in numbers


@pytest.mark.parametrize("path", ["/", "/status", "/nothing", "/metrics"])
def test_no_other_page_may_read_or_frame_an_answer(daemon, path):
    _, header, _ = answer(daemon.status_socket, path)
    assert header["Cross-Origin-Resource-Policy"] == "same-origin" and header["Referrer-Policy"] == "no-referrer"
    assert header["X-Content-Type-Options"] == "nosniff" and header["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in header["Content-Security-Policy"]
    assert not [name for name in header if name.lower().startswith("access-control")]


def test_names_become_text_never_markup():
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc",
                "javascript:", "createContextualFragment", "DOMParser", ".href", ".src"):
        assert way not in SCRIPT, way
    assert not re.search(r"\bon\w+=|style=", (PAGE / "page.html").read_text())


def columns(table):
    body = SCRIPT[SCRIPT.index(f"const {table} = new Table("):]
    return set(re.findall(r"\br\.(\w+)", body[:body.index("\n});")]))


def test_every_field_that_it_shows_is_there(daemon):
    client = daemon.popen("import braze.numpy as np\nx = np.ones(9)\nprint(float(x.sum()), flush=True)\ninput()\n")
    client.stdout.readline()
    have = {"sessions": daemon.clients()[0], "devices": daemon.status()["devices"][0],
            "kernels": daemon.kernels()[0], "events": daemon.get("/events")["events"][0]}
    for table, row in have.items():
        shown = columns(table)
        assert len(shown) >= 3 and shown <= set(row) | {"busy"}, shown - set(row)
    assert set(re.findall(r'(?:per|now)\("(\w+)"\)', SCRIPT)) <= set(HISTORY)
    figures = re.findall(r"\bs\.((?:kernels|plans)\.\w+|\w+_count\b)", SCRIPT)
    status = daemon.status()
    for path in figures:
        at = status
        for part in path.split("."):
            at = at[part]
    client.communicate("\n")


# ---- The JSON that it asks for ----

def test_history_is_a_ring_of_samples(daemon):
    def two():
        page = daemon.get("/history")
        return page if len(page["samples"]) >= 2 else None

    page = wait_until(two, 20, "a second sample")
    assert page["fields"] == HISTORY and page["kept"] == 720 and page["every_seconds"] == 5
    rows = [dict(zip(page["fields"], row, strict=True)) for row in page["samples"]]
    assert all(len(row) == len(HISTORY) for row in page["samples"])
    assert all(b["time"] > a["time"] for a, b in zip(rows, rows[1:], strict=False))
    assert rows[-1]["runs"] >= 1 and abs(rows[-1]["time"] - time.time()) < 60
    rising = [n for n in HISTORY if n.endswith("seconds") or n in ("runs", "compiles", "plan_hits", "plan_misses")]
    assert all(b[n] >= a[n] for a, b in zip(rows, rows[1:], strict=False) for n in rising)
    last = daemon.get(f"/history?after={int(rows[-2]['time']) + 1}")["samples"]
    assert len(last) < len(page["samples"]) + 2 and rows[0]["time"] not in [r[0] for r in last]
    assert daemon.get("/history?after=4294967295")["samples"] == []
    # A full ring in text: far below what an answer may have.
    assert 720 * len(HISTORY) * 20 < 1 << 20


def test_the_list_of_kernels_comes_without_nests(daemon):
    whole, brief = daemon.get("/kernels")["kernels"], daemon.get("/kernels?brief=1")["kernels"]
    assert len(whole) == len(brief) > 0
    assert set(whole[0]) - set(brief[0]) == {"key"} and all(k["key"] for k in whole)


@pytest.mark.parametrize("query", ["?after=", "?after=-1", "?after=x", "?after=99999999999", "?brief", "?x=1", "?"])
def test_wrong_arguments_are_none(daemon, query):
    assert len(daemon.get("/history" + query)["samples"]) > 0 and daemon.get("/kernels" + query)["kernels"]


def test_hostile_names_are_text_in_json(daemon):
    client = daemon.popen("import braze.numpy as np\nprint(float(np.ones(9).sum()), flush=True)\ninput()\n",
                          BRAZE_NAME="</script><img src=x onerror=alert(1)>\"'&")
    client.stdout.readline()
    _, header, text = answer(daemon.status_socket, "/clients")
    assert header["Content-Type"] == "application/json"
    assert json.loads(text)["clients"][0]["name"] == "</script><img src=x onerror=alert(1)>\"'&"
    client.communicate("\n")


HEAVY = ("import sys, braze, braze.numpy as np\nx = np.ones((1500, 1500))\nprint('on', flush=True)\n"
         "while True:\n    float((x @ x)[3, 3])\n")


def test_who_waits_for_whom_is_told():
    with Daemon(threads=1) as daemon:
        clients = [daemon.popen(HEAVY, BRAZE_NAME=f"heavy{k}") for k in range(3)]
        for c in clients:
            c.stdout.readline()
        said = set()

        def seen():
            said.update(r["doing"] for r in daemon.clients())
            return (any(t == "runs on cpu" for t in said)
                    and any(re.fullmatch(r"waits for cpu(, which works for \d+ \(heavy\d\))?(, \d+ \(heavy\d\))*", t)
                            and "works" in t for t in said))

        wait_until(seen, 30, f"one that runs and one that waits, of {said}")
        for c in clients:
            c.kill()
        wait_until(lambda: not daemon.clients())


# ---- brazectl page ----

@pytest.fixture
def served(daemon):
    server = subprocess.Popen([find_ctl(), "--socket", daemon.status_socket, "page"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    url = urllib.parse.urlsplit(server.stdout.readline().strip())
    assert url.scheme == "http" and url.hostname == "127.0.0.1"
    assert re.fullmatch(r"/[0-9a-f]{32}/", url.path)
    yield url
    server.kill()
    server.wait()


def ask(url, path, method="GET", **headers):
    """(status, text); a header of None is left out."""
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {"Host": url.netloc, **headers}.items():
        for one in value if isinstance(value, list) else [value] if value is not None else []:
            connection.putheader(name, one)
    connection.endheaders()
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, text


def test_it_hands_on_what_the_daemon_says(daemon, served):
    for path in ("", "status", "clients", "kernels?brief=1", "history?after=5", "events", "metrics", "kernels/1"):
        status, text = ask(served, served.path + path)
        assert status == 200 and len(text) > 10, path
    assert json.loads(ask(served, served.path + "status")[1])["pid"] == daemon.pid
    assert ask(served, served.path, "HEAD") == (200, "")
    assert ask(served, served.path + "nothing")[0] == 404


def test_without_its_token_nothing_is_answered(served):
    token = served.path[1:-1]
    other = token[:-1] + ("0" if token[-1] != "0" else "1")
    for path in ("/", "/status", "/favicon.ico", f"/{other}/", f"/{other}/status", f"/{token}", f"/{token[:-1]}/",
                 f"/{token.upper()}x/", f"//{token}/", "/?" + token, f"/status?{token}"):
        status, text = ask(served, path)
        assert status == 403 and "token" in text and token not in text, path


def test_only_names_of_this_machine_lead_there(served):
    """A name of a stranger's that is made to lead to 127.0.0.1 is refused, as is none."""
    port = served.port
    for host in (None, "", "evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"localhost.:{port}",
                 f"127.0.0.1:{port}@evil.example", "127.0.0.1:x", [f"127.0.0.1:{port}", "evil.example"]):
        assert ask(served, served.path + "status", Host=host)[0] == 403, host
    for host in ("localhost", f"localhost:{port}", "127.0.0.1:9999", "[::1]:9999", "LOCALHOST:1"):
        assert ask(served, served.path + "status", Host=host)[0] == 200, host


def test_it_only_reads(daemon, served):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "get"):
        for path in ("sessions/1/end", "cache/clear", "status"):
            assert ask(served, served.path + path, method)[0] == 405, (method, path)
    assert ask(served, served.path + "cache/clear")[0] == 404


@pytest.mark.parametrize("path", ["../status", "%2e%2e/status", "status#x", "a b", "status;x", "st\\atus", "Ä".encode().decode("latin-1")])
def test_odd_paths(served, path):
    s = socket.create_connection((served.hostname, served.port), timeout=10)
    s.sendall(f"GET {served.path}{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"))
    assert s.recv(4096).startswith(b"HTTP/1.1 400")
    s.close()


@pytest.mark.parametrize("request_bytes", [
    b"\r\n\r\n", b"GET\r\n\r\n", b"GET /\r\n\r\n", b"GET / SPDY/3\r\n\r\n", b"\0\0\0\0\r\n\r\n", b"G" * 20000,
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 4000])
def test_what_is_no_request(served, request_bytes):
    s = socket.create_connection((served.hostname, served.port), timeout=10)
    try:
        s.sendall(request_bytes)
        said = s.recv(4096)
    except (BrokenPipeError, ConnectionResetError):
        said = b""
    assert said == b"" or re.match(rb"HTTP/1.1 4\d\d ", said)
    s.close()
    assert ask(served, served.path + "status")[0] == 200


def test_silent_connections_keep_nobody_waiting(served):
    silent = [socket.create_connection((served.hostname, served.port)) for _ in range(20)]
    began = time.monotonic()
    assert ask(served, served.path + "status")[0] == 200
    assert time.monotonic() - began < 5
    for s in silent:
        s.close()


def test_only_this_machine_reaches_it(served):
    lines = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
    at = {w[1].split(":")[0] for w in lines if w[3] == "0A" and int(w[1].split(":")[1], 16) == served.port}
    assert at == {"0100007F"}
    everywhere = [line.split() for line in open("/proc/net/tcp6").read().splitlines()[1:]]
    assert not [w for w in everywhere if int(w[1].split(":")[1], 16) == served.port and w[3] == "0A"]


def test_each_has_its_own_token_and_a_daemon_that_is_gone_is_told():
    with Daemon() as daemon:
        servers = [subprocess.Popen([find_ctl(), "--socket", daemon.status_socket, "page"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True) for _ in range(2)]
        urls = [urllib.parse.urlsplit(s.stdout.readline().strip()) for s in servers]
        assert urls[0].path != urls[1].path and urls[0].port != urls[1].port
    status, text = ask(urls[0], urls[0].path + "status")
    assert status == 502 and "no daemon" in json.loads(text)["error"]
    for s in servers:
        s.terminate()
        assert s.wait(10) < 0


def test_a_port_may_be_named_and_may_be_taken(daemon):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run([find_ctl(), "--socket", daemon.status_socket, "page", "--port", str(port)],
                              capture_output=True, text=True)
        assert done.returncode == 1 and "in use" in done.stderr
    for wrong in ("x", "-1", "65536", ""):
        done = subprocess.run([find_ctl(), "--socket", daemon.status_socket, "page", "--port", wrong],
                              capture_output=True, text=True)
        assert done.returncode == 2, wrong


def test_the_page_on_the_unix_socket_is_the_same(daemon, served):
    plain, by_port = fetch(daemon.status_socket, "/")[1], ask(served, served.path)[1]
    assert re.sub(r"[0-9a-f]{32}", "", plain) == re.sub(r"[0-9a-f]{32}", "", by_port)
