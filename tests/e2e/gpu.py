# SPDX-License-Identifier: Apache-2.0
"""A daemon whose cuda:0 is the stand-in driver, and clients that do what they are told."""

import json
import os
import pathlib

from harness import STANDIN_CACHE, Daemon, is_sanitized, standin_environment, wait_until

# For devices that move so much that the stand-in takes seconds: that is no hang.
PATIENT = {"BRAZE_WORKER_HANG_MS": "60000"}
# For tests of hangs: otherwise a sanitized stand-in may be slow without being one.
STRICT = {"BRAZE_WORKER_HANG_MS": "2000"}
TALKER = pathlib.Path(__file__).parent / "programs" / "talker.py"


class Refused(Exception):
    """What a talker's code raised: class name and text."""


class Talker:
    def __init__(self, gpu, device="cuda:0", **env):
        self.process = gpu.daemon.popen(TALKER, **{"BRAZE_DEVICE": device, **env})

    def begin(self, code):
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()

    def end(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(f"{answer['error']}: {answer['text']}")
        return answer["out"]

    def do(self, code):
        self.begin(code)
        return self.end()

    def prepared(self, setup):
        """The talker itself, behind code in which {folder} is where programs lie."""
        self.do(setup.format(folder=str(TALKER.parent)))
        return self


class Gpu:
    """A daemon whose cuda:0 is the stand-in."""

    def __init__(self, device="cpu,cuda:0", env=None, settings=None, **options):
        options.setdefault("race", 1)
        settings = {"cache_dir": STANDIN_CACHE / "kernels", "device": device, **(settings or {})}
        env = {**(PATIENT if is_sanitized() else STRICT), **(env or {})}
        self.daemon = Daemon(env={**standin_environment(**options), **env}, **settings)
        self.control = pathlib.Path(self.daemon.folder) / "control"
        self.daemon.env["BRAZE_STANDIN"] += f",control={self.control}"

    def __enter__(self):
        self.daemon.start()
        return self

    def __exit__(self, *exc):
        self.daemon.close()

    def talker(self, device="cuda:0", **env):
        return Talker(self, device, **env)

    def device(self, name="cuda:0"):
        return next(d for d in self.daemon.status()["devices"] if d["name"] == name)

    def usable(self, name="cuda:0"):
        return wait_until(lambda: self.device(name)["state"] == "usable" and self.device(name),
                          what="the device")

    def inject(self, rules, name="cuda:0"):
        """For the worker that runs now, from its next call on."""
        new = self.control.with_suffix(".new")
        new.write_text(f"pid={self.usable(name)['worker_pid']},{rules}")
        os.replace(new, self.control)

    def release(self):
        """Let a device begin that was started with hold=1."""
        self.control.write_text("hold=0")

    def deaths(self, name="cuda:0"):
        return self.device(name)["worker_deaths"]
