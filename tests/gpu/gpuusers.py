#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several users and several GPUs on a machine's own driver, as TAP: a worker for each user (as root), what
CUDA_VISIBLE_DEVICES leaves a client, and copies between GPUs where there are two.

In: a daemon beside it (../bin/brazed, or BRAZE_DAEMON), and the package braze, beside it or where Python finds it.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import braze  # noqa: E402
import braze.numpy as np  # noqa: E402

DAEMON = os.environ.get("BRAZE_DAEMON", str(HERE.parent / "bin/brazed"))
USERS = (65531, 65532)
N = 8 << 20
number = failed = 0


def check(good, what):
    global number, failed
    number, failed = number + 1, failed + (not good)
    print(f"{'ok' if good else 'not ok'} {number} - {what}", flush=True)


def client(do, uid=None, **env):
    """A process that becomes this user, then gives what `do` does, or the error's text.  It goes on
    living until it is told to leave, so that its session does."""
    back, forth = os.pipe()
    stay, go = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(go)
        try:
            if uid is not None:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            os.environ.update(env)
            said = do()
        except Exception as e:
            said = f"{type(e).__name__}: {e}"
        os.write(forth, json.dumps(said).encode())
        os.close(forth)
        os.read(stay, 1)
        os._exit(0)
    os.close(forth)
    os.close(stay)
    with os.fdopen(back, "rb") as f:
        said = json.loads(f.read())

    def leave():
        os.write(go, b"x")
        os.close(go)
        os.waitpid(pid, 0)

    return said, leave


def once(do, **env):
    said, leave = client(do, **env)
    leave()
    return said


def first_use():
    began = time.monotonic()
    with braze.device("cuda:0"):
        s = float((np.asarray(numpy.arange(1000.0)) * 3).sum())
    return s, time.monotonic() - began


def peer_copy():
    with braze.device("cuda:0"):
        y = np.asarray(numpy.arange(N) * 1.0)
        for _ in range(40):
            y = y + 1
        braze.wait(y)
    with braze.device("cuda:1"):
        z = y * 2
        braze.wait(z)
    return bool((numpy.asarray(z) == (numpy.arange(N) + 40.0) * 2).all())


def status(folder):
    ctl = pathlib.Path(DAEMON).with_name("brazectl")
    out = subprocess.run([ctl, "--socket", f"{folder}/brazed.status", "--json", "status"], capture_output=True, text=True)
    return json.loads(out.stdout)


def devices(folder, ready=True):
    """Rows of GPUs, once none starts."""
    for _ in range(600):
        rows = [d for d in status(folder)["devices"] if d["name"] != "cpu"]
        if not ready or all(d["state"] != "starting" for d in rows):
            return rows
        time.sleep(0.1)
    sys.exit("Bail out! a device does not start")


def check_users(folder):
    said = [client(first_use, uid=u) for u in USERS]
    rows = {r["uid"]: r for r in devices(folder)[0]["users"]}
    for uid, ((value, seconds), _) in zip(USERS, said):
        check(value == 1498500, f"user {uid}: the right sum, {seconds:.2f} s at first use")
    pids = [rows[u]["worker_pid"] for u in USERS if u in rows]
    check(len(set(pids)) == 2, f"each user has a worker of his own: {pids}")
    smi = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader"],
                         capture_output=True, text=True) if pathlib.Path("/dev/nvidiactl").exists() else None
    print("# memory of contexts:", smi.stdout.strip().replace("\n", "; ") if smi else "not known")
    for _, leave in said:
        leave()
    time.sleep(3)
    check(devices(folder)[0]["users"] == [], "workers end behind their users")


def check_visible(folder):
    uuid = devices(folder)[0]["uuid"]
    for visible, sees in (("0", True), (uuid, True), (uuid[:12], True), ("-1", False), ("", False)):
        names = once(braze.devices, CUDA_VISIBLE_DEVICES=visible)
        check(("cuda:0" in names) == sees, f"CUDA_VISIBLE_DEVICES={visible or '(empty)'}: {names}")
    said = once(first_use, CUDA_VISIBLE_DEVICES="-1")
    check("CUDA_VISIBLE_DEVICES" in said, f"who asks nevertheless is told: {said}")


def check_peers(folder):
    rows = devices(folder)
    if len(rows) < 2 or any(d["state"] != "usable" for d in rows[:2]):
        print("# one GPU: nothing to carry")
        return
    check(once(peer_copy) is True, "a value of cuda:0 on cuda:1")
    (row,) = [p for p in devices(folder)[1]["peers"] if p["from"] == "cuda:0"]
    print(f"# reached: {row['reached']}, {row['values']:.0f} values past the host, {row['rate'] / 1e9:.1f} GB/s")
    check(bool(row["values"]) == row["reached"], "past the host where the driver says so")


with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o755)
    os.environ.update(BRAZE_SOCKET=f"{folder}/brazed.sock", BRAZE_ISOLATION_IDLE_MS="1000")
    isolation = "user" if os.geteuid() == 0 else "none"
    two = pathlib.Path("/dev/nvidia1").exists() or "devices=2" in os.environ.get("BRAZE_STANDIN", "")
    daemon = subprocess.Popen([DAEMON, "-S", f"{folder}/brazed.sock", f"-oisolation={isolation}",
                               f"-ostatus_socket={folder}/brazed.status", f"-ocache_dir={folder}/cache",
                               "-odevice=cpu,cuda:0" + (",cuda:1" if two else "")], stderr=subprocess.DEVNULL)
    try:
        while not pathlib.Path(f"{folder}/brazed.status").exists():
            time.sleep(0.05)
        os.chmod(f"{folder}/brazed.sock", 0o666)
        check(devices(folder)[0]["state"] == "usable", f"cuda:0: {devices(folder)[0]['model']}")
        if isolation == "user":
            check_users(folder)
        check_visible(folder)
        check_peers(folder)
    finally:
        daemon.terminate()
        daemon.wait()
print(f"1..{number}")
sys.exit(failed > 0)
