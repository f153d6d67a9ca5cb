# SPDX-License-Identifier: Apache-2.0
"""tests/campaign.py - new random programs, loops and packets, for as long as one likes.

    tests/campaign.py --seed 7 --minutes 60

A seed stands for an endless row of programs: the same seed goes on where its last run
ended, from build/reports/campaign-SEED.json, which also has the counts and what failed.
Without --seed a fresh one is drawn and told.  Last line: "N passed, N failed".

Each part gets its share of the time.  A part's programs run in processes of their own,
against a private daemon; one that crashes or hangs is a failure and not the end.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
REPORTS = BUILD / "reports"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/python")]


class Part(NamedTuple):
    """One kind of programs."""

    share: float  # of the time
    chunk: int  # programs of one process
    variants: int  # of each structure: other shapes and data
    settings: dict  # of the daemon
    device: str = ""
    how: dict = {}  # noqa: RUF012 - read only; of random_make.program
    near: str = "0"  # BRAZE_NEAR: is what is small computed in its call?


PARTS = {
    "interpreted": Part(0.2, 160, 1, {"tier": 0}),
    "near": Part(0.15, 160, 1, {"tier": 0}, near="1"),
    "mistakes": Part(0.12, 80, 1, {"tier": 0}, how={"mistakes": 0.25}),
    "special": Part(0.08, 80, 1, {"tier": 0}, how={"styles": ("small", "special")}),
    "compiled": Part(0.12, 2, 10, {"tier": 1}, how={"mistakes": 0.1}),
    "standin": Part(0.08, 1, 10, {}, "cuda:0", {"mistakes": 0.1}),
    "loops": Part(0.15, 9, 17, {}),
    "loops on a GPU": Part(0.06, 9, 10, {}, "cuda:0"),
    "fuzz": Part(0.25, 1, 1, {}),
}
PROGRAM_SECONDS = 60  # of one program, before it counts as one that hangs


def say(text):
    print(text, flush=True)


# ---- The child: some programs of one part ----


def child(name, first, last):
    """Check programs [first, last); a line of JSON for each."""
    import random_check
    import random_make

    part = PARTS[name]
    for number in range(first, last):
        signal.alarm(PROGRAM_SECONDS * part.variants)
        for variant in range(part.variants):
            how = dict(part.how, variant=variant, length=8 + number % 25, rounds=number % 2 == 0)
            steps = random_make.program(number, **how)
            modes = ("lazy", "unfused") if number % 4 == 0 else ("lazy",)
            text = random_check.fails(steps, modes)
            if text is not None:
                text = random_check.report(number, steps, modes)
            print(json.dumps({"number": number, "variant": variant, "failure": text}),
                  flush=True)


# ---- The parent ----


class Campaign:
    """The state of a seed, on disk after each chunk."""

    def __init__(self, seed):
        REPORTS.mkdir(parents=True, exist_ok=True)
        self.path = REPORTS / f"campaign-{seed}.json"
        self.seed = seed
        self.lock = threading.Lock()
        self.parts = {name: {"next": 0, "passed": 0, "failed": 0, "seconds": 0.0, "failures": []}
                      for name in PARTS}
        if self.path.exists():
            self.parts.update(json.loads(self.path.read_text())["parts"])
            say(f"campaign: seed {seed} goes on from {self.path.relative_to(ROOT)}")

    def take(self, name, programs):
        """The number of the first of the part's next programs; rows of seeds do not meet."""
        with self.lock:
            self.parts[name]["next"] += programs
            return self.seed * 10_000_000 + self.parts[name]["next"] - programs

    def note(self, name, passed, failures):
        with self.lock:
            row = self.parts[name]
            row["passed"] += passed
            row["failed"] += len(failures)
            row["failures"] += failures
            for text in failures:
                say(f"-- {name}: {text}")
            fresh = self.path.with_suffix(".new")
            fresh.write_text(json.dumps({"seed": self.seed, "parts": self.parts}, indent=1))
            fresh.replace(self.path)


def share(work, jobs):
    """So many threads do the work."""
    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_chunk(campaign, name, env):
    """The part's next programs; where one ends its process, the others in another."""
    part = PARTS[name]
    first = campaign.take(name, part.chunk)
    last = first + part.chunk
    while first < last:
        process = subprocess.Popen(
            [sys.executable, __file__, "--child", name, str(first), str(last)], env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(
                timeout=PROGRAM_SECONDS * (last - first) * part.variants + 60)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        done = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        failures = [f"variant {d['variant']}: {d['failure']}" for d in done if d["failure"]]
        begun, first = first, last
        if process.returncode:
            at = done[-1] if done else {"number": begun, "variant": -1}
            whole = at["variant"] + 1 == part.variants
            guilty = at["number"] + whole
            failures.append(f"program {guilty}, variant {0 if whole else at['variant'] + 1}: "
                            f"status {process.returncode}\n{err[-4000:]}")
            first = guilty + 1
        campaign.note(name, sum(not d["failure"] for d in done), failures)


def complaints(daemon):
    """The warnings and errors of its log, the last of them."""
    lines = daemon.log_text().splitlines()
    return "\n".join(x for x in lines if x.split()[1:2] in (["warn"], ["error"]))[-4000:]


def of_device(part):
    """Environment and settings of a daemon for it; or why it cannot run."""
    import harness

    settings = dict(part.settings)
    if not part.device:
        return {}, settings, None
    if not harness.find_standin() or not harness.find_nvrtc():
        return {}, settings, "there is no stand-in or no NVRTC"
    # No NVRTC knows it: PTX is made and no machine code, which takes most of the time.
    env = harness.standin_environment(race=1, cc="19.0")
    settings |= {"device": f"cpu,{part.device}", "cache_dir": harness.STANDIN_CACHE / "kernels"}
    return env, settings, None


def look_at(campaign, name, daemon):
    """What a daemon's workers, compilers and end have to say, before it is stopped."""
    part = PARTS[name]
    # Of a daemon that ended before its time stop() tells.
    devices = daemon.status()["devices"] if daemon.process.poll() is None else ()
    for device in devices:
        if device["worker_deaths"]:
            campaign.note(name, 0, [f"{device['worker_deaths']} deaths of the worker of "
                                    f"{device['name']}\n{complaints(daemon)}"])
        if device["name"] == part.device and not device["runs"]:
            campaign.note(name, 0, [f"{part.device} ran nothing\n{complaints(daemon)}"])
    # Interpreted, or on the CPU, it has the same bits: what does not compile would not be seen.
    if daemon.failed_kernels():
        campaign.note(name, 0, [f"kernels that do not compile\n{daemon.failed_kernels()[:8]}"])
    if part.device and f"cannot be had for {part.device}" in daemon.log_text():
        campaign.note(name, 0, [f"plans of {part.device} on the CPU\n{complaints(daemon)}"])
    own_status = daemon.stop()
    if own_status:
        campaign.note(name, 0, [f"the daemon ended with {own_status}\n"
                                f"{daemon.log_text()[-4000:]}"])


def programs(campaign, name, seconds, jobs):
    """Programs of a part until the time is over; None, or why it cannot run."""
    import harness

    part = PARTS[name]
    env, settings, why = of_device(part)
    if why:
        return why
    with harness.Daemon(env=env, **settings) as daemon:
        own = harness.clean_environment(BRAZE_SOCKET=daemon.socket, BRAZE_NEAR=part.near)
        if part.device:
            own["BRAZE_DEVICE"] = own["BRAZE_TEST_DEVICE"] = part.device
        end = time.monotonic() + seconds

        def work():
            while time.monotonic() < end and daemon.process.poll() is None:
                run_chunk(campaign, name, own)

        share(work, jobs)
        look_at(campaign, name, daemon)
    return None


def loops(campaign, name, seconds, jobs):
    """Kernels of text by all ways to run one: first the same structures each time, then new ones."""
    import campaign_loops
    import harness

    part, row, end = PARTS[name], campaign.parts[name], time.monotonic() + seconds
    ways = campaign_loops.WAYS_ON_DEVICE if part.device else campaign_loops.WAYS
    # A process of each way takes as long to begin as a structure to be compiled: of few structures where time is short.
    many = part.chunk * (6 if seconds >= 600 else 1)
    env, settings, why = of_device(part)
    if why:
        return why
    with harness.Daemon(env=env, **settings) as daemon:
        environment = harness.clean_environment(BRAZE_SOCKET=daemon.socket)

        def work(first, count):
            passed, failures = campaign_loops.chunk(first, first + count, environment, ways)
            with campaign.lock:
                for way, calls in passed.items():
                    row["ways"][way] = row["ways"].get(way, 0) + calls
            campaign.note(name, sum(passed.values()), failures)

        def go_on():
            while time.monotonic() < end and daemon.process.poll() is None:
                work(campaign.take(name, many), many)

        row.setdefault("ways", {})
        work(0, part.chunk)
        share(go_on, jobs)
        look_at(campaign, name, daemon)
    say("   " + ", ".join(f"{way}: {calls} calls" for way, calls in row["ways"].items()))
    return None


def fuzz(campaign, seconds):
    """Each libFuzzer target for its part of the time, from the saved corpus."""
    if not shutil.which("clang"):
        return "clang is not installed"
    if subprocess.run([ROOT / "deploy/build.sh", "fuzz", "2"], stdout=subprocess.DEVNULL,
                      stdin=subprocess.DEVNULL).returncode:
        campaign.note("fuzz", 0, ["the targets do not build"])
        return None
    targets = sorted(p for p in (BUILD / "fuzz").rglob("fuzz_*")
                     if p.is_file() and os.access(p, os.X_OK))
    each = max(2, int(seconds / max(1, len(targets))))
    for target in targets:
        work = BUILD / "fuzz/corpus" / target.name
        work.mkdir(parents=True, exist_ok=True)
        saved = ROOT / "tests/fuzz/corpus" / target.name.removeprefix("fuzz_")
        seed = campaign.take("fuzz", 1) % 2**31 + 1
        found = Path(tempfile.mkdtemp(prefix="found-", dir=REPORTS))
        done = subprocess.run(
            [target, f"-max_total_time={each}", f"-seed={seed}", "-timeout=20",
             "-rss_limit_mb=4096", f"-artifact_prefix={found}/", "-print_final_stats=1", work,
             *([saved] if saved.is_dir() else [])],
            stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            campaign.note("fuzz", 0, [f"{target.name}, seed {seed}, input in {found}:\n"
                                      f"{done.stderr[-4000:]}"])
        else:
            shutil.rmtree(found)
            campaign.note("fuzz", 1, [])
    return None


def main():
    parser = argparse.ArgumentParser(description="new random programs and packets")
    parser.add_argument("--seed", type=int, help="of its programs; none: a fresh one")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=2, help="clients at a time")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of: " + ", ".join(PARTS))
    parser.add_argument("--child", nargs=3, metavar=("PART", "FIRST", "LAST"),
                        help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child[0], int(arguments.child[1]), int(arguments.child[2]))
    chosen = arguments.parts.split(",")
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    seed = arguments.seed if arguments.seed is not None else int.from_bytes(os.urandom(3))
    say(f"campaign: seed {seed}, {arguments.minutes:g} minutes")
    campaign = Campaign(seed)
    shares = sum(PARTS[name].share for name in chosen)
    for name in chosen:
        start, seconds = time.monotonic(), 60 * arguments.minutes * PARTS[name].share / shares
        why = (fuzz(campaign, seconds) if name == "fuzz"
               else loops(campaign, name, seconds, arguments.jobs) if name.startswith("loops")
               else programs(campaign, name, seconds, arguments.jobs))
        row = campaign.parts[name]
        row["seconds"] += time.monotonic() - start
        campaign.note(name, 0, [])
        say(f"-- {name}: " + (f"skipped, {why}" if why else
                              f"{row['passed']} passed, {row['failed']} failed in all"))
    passed = sum(campaign.parts[name]["passed"] for name in chosen)
    failed = sum(campaign.parts[name]["failed"] for name in chosen)
    say(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
