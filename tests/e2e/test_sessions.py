# SPDX-License-Identifier: Apache-2.0
"""Sessions by name: what a program says of itself, who sees it, and how it is shown."""

import json
import os
import pathlib
import pwd
import subprocess
import sys

import pytest
from harness import Daemon, fetch, finish, wait_until
from raw import Raw, nested

USE = "import sys, braze, braze.numpy as np\nx = np.ones(50_000) * 2\nfloat(x.sum())\n"
WAIT = "print('here', flush=True)\nsys.stdin.readline()\n"
NOBODY = {"JPY_SESSION_NAME": "", "OMPI_COMM_WORLD_RANK": "", "PMI_RANK": "", "SLURM_PROCID": "",
          "SLURM_JOB_ID": "", "PBS_JOBID": "", "LSB_JOBID": "",
          "VIRTUAL_ENV": "", "CONDA_DEFAULT_ENV": "", "BRAZE_NAME": ""}


@pytest.fixture(scope="module")
def shared():
    with Daemon() as private:
        yield private


def about(name="", program="", file="", job="", environment=""):
    texts = (name, program, file, job, environment)
    return nested(12, b"".join(nested(i + 1, t if isinstance(t, bytes) else t.encode())
                               for i, t in enumerate(texts)))


def told(daemon, code, **environment):
    """The one client's row, while it waits."""
    client = daemon.popen(code, **{**NOBODY, **environment})
    assert client.stdout.readline() == "here\n"
    row, = daemon.clients()
    finish(client)
    return row


def test_a_script_says_who_it_is(daemon, tmp_path):
    script = tmp_path / "wärme_模型.py"
    script.write_text(USE + WAIT)
    row = told(daemon, script, SLURM_JOB_ID="4711")
    assert row["name"] == "wärme_模型.py"
    assert row["file"] == str(script)
    assert row["program"].startswith("python")
    assert row["job"] == "slurm 4711"
    assert row["environment"] == (sys.prefix if sys.prefix != sys.base_prefix else "")
    assert row["user"] == pwd.getpwuid(os.getuid()).pw_name
    assert 0 <= row["age_seconds"] < 60 and row["queue"] == 0
    assert row["kernel_hits"] + row["kernel_misses"] > 0 and row["ops"] > 0


@pytest.mark.parametrize(("variables", "job"), [
    ({"PBS_JOBID": "12.host"}, "pbs 12.host"), ({"LSB_JOBID": "9"}, "lsf 9"), ({}, ""),
    ({"SLURM_JOB_ID": "7", "PBS_JOBID": "8"}, "slurm 7"),
    ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, "rank 2 of 4"),
    ({"PMI_RANK": "0", "PMI_SIZE": "2", "PBS_JOBID": "8"}, "pbs 8 rank 0 of 2"),
    ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "1", "SLURM_NTASKS": "3"}, "slurm 7 rank 1 of 3"),
    ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, "slurm 7"),
    ({"OMPI_COMM_WORLD_RANK": "2"}, "")])
def test_jobs_of_batch_systems(daemon, variables, job):
    assert told(daemon, USE + WAIT, **variables)["job"] == job


def test_notebooks_are_called_as_their_file(daemon):
    """As Jupyter's server and as an editor say it."""
    row = told(daemon, USE + WAIT, JPY_SESSION_NAME="/home/me/first look.ipynb")
    assert row["name"] == "first look.ipynb"
    kernel = ("import sys\nsys.argv = ['/x/ipykernel_launcher.py', '-f', '/run/kernel-12ab.json']\n")
    row = told(daemon, kernel + USE + WAIT)
    assert (row["name"], row["file"]) == ("notebook", "/run/kernel-12ab.json")
    row = told(daemon, kernel + "__vsc_ipynb_file__ = '/home/me/b.ipynb'\n" + USE + WAIT)
    assert (row["name"], row["file"]) == ("b.ipynb", "/home/me/b.ipynb")


def test_environments_of_conda(daemon):
    code = f"import sys\nsys.prefix = sys.base_prefix\n{USE}{WAIT}"
    assert told(daemon, code, CONDA_DEFAULT_ENV="ml")["environment"] == "ml"


def test_names_change_while_it_runs(daemon):
    client = daemon.popen(
        f"{USE}import braze\nprint('here', flush=True)\nsys.stdin.readline()\n"
        "with braze.session(name='training'):\n"
        "    print('here', flush=True); sys.stdin.readline()\n"
        "print('here', flush=True); sys.stdin.readline()\n"
        "braze.session(name='testing')\nbraze.close()\nfloat((np.ones(9) + 1).sum())\n"
        "assert braze.session_name('') == 'testing'\n"
        "braze.session(name='testing')\nprint('here', flush=True); sys.stdin.readline()\n",
        BRAZE_NAME="first")
    for name in ("first", "training", "first", "testing"):
        assert client.stdout.readline() == "here\n"
        # Nobody waits for an answer: the word may be on its way.
        wait_until(lambda want=name: [r["name"] for r in daemon.clients()] == [want])
        client.stdin.write("\n")
        client.stdin.flush()
    finish(client)


@pytest.mark.parametrize("wrong", ["None", "7", "b'x'"])
def test_a_name_is_a_str(daemon, wrong):
    daemon.run(f"import braze\ntry:\n    braze.session(name={wrong})\nexcept TypeError:\n    pass\n"
               "else:\n    raise SystemExit('it was taken')\n")


def test_hostile_names_are_bounded_and_clean(shared):
    """Controls, invisible direction marks, broken UTF-8 and lengths: nothing steers who reads."""
    wild = "\x1b[2J\x07\r\n\u202eevil\u2028\x9b31m\x7f"
    with Raw(shared.socket) as client:
        client.request(about(wild, wild * 90, "/a" * 5000 + "/end.py", "j" * 900, b"\xff\xfe\xc3"))
        client.request(about("é" * 200, "", "模" * 400, "", b"\xed\xa0\x80ok"))
        row = ask_until(shared, lambda r: r["name"].startswith("é"))
    assert row["name"] == "é" * 31
    assert len(row["file"].encode()) <= 255 and set(row["file"]) == {"模"}
    assert row["environment"].endswith("ok") and "\ufffd" not in json.dumps(row)
    with Raw(shared.socket) as client:
        client.request(about(wild, wild * 90, "/a" * 5000 + "/end.py", "j" * 900, b"\xff\xfe\xc3"))
        row = ask_until(shared, lambda r: r["file"].endswith("/end.py"))
        table = shared.ctl("sessions").stdout
    assert row["name"] == "?[2J????evil??31m?"
    assert len(row["program"]) == 63 and len(row["job"]) == 63 and len(row["file"]) == 255
    assert row["environment"] == "???"
    assert not [c for c in table if ord(c) < 32 and c != "\n" or 126 < ord(c) < 160]


def test_no_page_has_what_an_array_holds(shared):
    client = shared.popen("import sys, numpy, braze, braze.numpy as np\n"
                          "x = np.asarray(numpy.full(40_000, 8.31446261815324e77))\n"
                          "few = np.asarray(numpy.full(3, 8.31446261815324e77))\n"
                          "text = np.asarray(numpy.frombuffer(b'secret-of-mine' * 800, 'u1'))\n"
                          "float((x + 1).max() + few.sum())\nint((text + 1).max())\n" + WAIT, **NOBODY)
    assert client.stdout.readline() == "here\n"
    pages = ["/", "/status", "/clients", "/kernels", "/kernels?brief=1", "/events", "/metrics", "/history", "/trace"]
    pages += [f"/kernels/{k['id']}" for k in shared.kernels()]
    texts = [fetch(shared.status_socket, page)[1] for page in pages] + [shared.log_text()]
    finish(client)
    assert len(texts) > 7 and not [t for t in texts if "8.314462" in t or "e+77" in t or "secret" in t]


def ask_until(daemon, want):
    """The row of the only client, once it is as wanted; what was sent may still be on its way."""
    for _ in range(200):
        rows = [r for r in daemon.clients() if want(r)]
        if rows:
            return rows[0]
    raise AssertionError(daemon.clients())


def test_an_empty_name_changes_nothing(shared):
    with Raw(shared.socket) as client:
        client.request(about("", "prog"))
        row = ask_until(shared, lambda r: r["program"] == "prog")
        assert row["name"] == "raw"


def test_about_comes_after_hello(shared):
    from raw import hello
    client = Raw(shared.socket, greet=False)
    client.request(hello(), about("x"))
    assert client.receive().kind == "goodbye"


def test_the_table_of_sessions(shared):
    client = shared.popen(f"import braze\nbraze.session(name='模型 training')\n{USE}{WAIT}", **NOBODY)
    assert client.stdout.readline() == "here\n"
    wide = shared.ctl("sessions", LC_ALL="C.UTF-8").stdout
    plain = shared.ctl("sessions", LC_ALL="C").stdout
    finish(client)
    head, row = wide.splitlines()
    assert head.split() == ["SESSION", "NAME", "USER", "PID", "ENVIRONMENT", "JOB", "AGE", "MEMORY",
                            "QUEUE", "DEVICE", "NEAR", "FAR", "PLANS", "KERNELS"]
    assert "模型 training" in row
    # Two of the columns are wide characters': the users' names stand under their title.
    user = pwd.getpwuid(os.getuid()).pw_name
    assert row.index(f"  {user} ") + 2 + 2 == head.index("USER")
    assert "?????? training" in plain and plain.isascii()
    assert shared.ctl("--json", "sessions").stdout.startswith("{")


def test_only_the_daemons_user_sees_names(shared):
    mode = pathlib.Path(shared.status_socket).stat().st_mode
    assert mode & 0o777 == 0o600
    if os.getuid() == 0:
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "curl", "-sS", "-m5",
                               "--unix-socket", shared.status_socket, "http://braze/clients"],
                              capture_output=True, text=True)
        assert done.returncode != 0 and "session" not in done.stdout
