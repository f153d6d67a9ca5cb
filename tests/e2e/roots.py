# SPDX-License-Identifier: Apache-2.0
"""Roots of Debian's releases, made by debootstrap: machines of their own to install into, where a user works."""

import os
import pathlib
import re
import shutil
import subprocess

from harness import ROOT

RELEASES = {"bookworm": 12, "trixie": 13}
USER = 1000
HOME = f"home/{USER}"
# Of this machine: how it reaches packages. Whom it trusts lies beside what a package would replace.
NETWORK = ("resolv.conf", "hosts", "pip.conf", "apt/apt.conf.d")
TRUSTED = os.environ.get("PIP_CERT") or "/etc/ssl/certs/ca-certificates.crt"
SETTINGS = {k: v for k, v in os.environ.items()
            if "proxy" in k.lower() or k.startswith("PIP_") and k != "PIP_FIND_LINKS"}
if os.path.exists(TRUSTED):
    SETTINGS["PIP_CERT"] = "/srv/trusted.crt"


def available():
    return os.getuid() == 0 and bool(shutil.which("debootstrap"))


def mirror():
    """Where this machine's apt takes Debian from; nothing where it is another system."""
    if not re.search(r"^ID=debian$", pathlib.Path("/etc/os-release").read_text(), re.M):
        return []
    text = subprocess.run(["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"],
                          capture_output=True, text=True, check=True).stdout
    rows = dict(line.split(" ", 1) for line in text.splitlines())
    return [rows[name] for name in rows if "-" not in name][:1]


class Root:
    """A small Debian in a folder."""

    def __init__(self, folder, release=None, like=None):
        self.folder, self.release = folder, release or like.release
        if like:
            folder.rmdir()
            subprocess.run(["cp", "-a", "--reflink=auto", like.folder, folder], check=True)
            return
        kept = ROOT / "build/debootstrap"
        kept.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["debootstrap", "--variant=minbase", f"--cache-dir={kept}", release, folder, *mirror()],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
        folder.chmod(0o755)  # pytest's are their maker's alone
        for name in NETWORK:
            source, target = f"/etc/{name}", folder / "etc" / name
            if os.path.isdir(source):
                shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
            elif os.path.exists(source):
                shutil.copy(source, target)
        (folder / "etc/passwd").open("a").write(f"ada:x:{USER}:{USER}:Ada:/{HOME}:/bin/sh\n")
        (folder / "etc/group").open("a").write(f"ada:x:{USER}:\n")
        if "PIP_CERT" in SETTINGS:
            self.give(TRUSTED, "trusted.crt")
        for name in (f"run/user/{USER}", HOME):
            (folder / name).mkdir(parents=True, mode=0o700)
            os.chown(folder / name, USER, USER)
        self.run("apt-get", "update")

    def started(self, *command, user=False, **variables):
        """What subprocess is given to have it run in the root, in its own tree of processes, which ends with the command;
        as its user or as root."""
        where = f"/{HOME}" if user else "/root"
        env = {**SETTINGS, "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8", "HOME": where,
               "PATH": "/usr/local/bin:/usr/bin:/bin" + ("" if user else ":/usr/local/sbin:/usr/sbin:/sbin"),
               **({"XDG_RUNTIME_DIR": f"/run/user/{USER}"} if user else {}), **variables}
        who = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if user else []
        return {"args": ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", f"--root={self.folder}",
                         f"--wd={where}", *who, *map(str, command)], "env": env, "text": True}

    def run(self, *command, check=True, user=False, seconds=1200, **variables):
        """To its end."""
        done = subprocess.run(**self.started(*command, user=user, **variables), capture_output=True, timeout=seconds)
        assert not check or done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
        return done

    def install(self, *packages):
        self.run("apt-get", "install", "-y", "--no-install-recommends", *packages)

    def give(self, path, name):
        """A copy of the file that everybody may read; its name there."""
        target = self.folder / "srv" / name
        shutil.copy(path, target)
        target.chmod(0o644)
        return f"/srv/{name}"

    def left(self):
        """Files that have to do with braze, but for what Debian's tools note of every package and keep of their files, what
        is given to a root and what a user keeps."""
        own = ("proc/", "sys/", "srv/", "root/", "tmp/", "var/cache/apt", "var/log", "var/lib/apt", f"run/user/{USER}/", HOME,
               *(f"etc/{name}-" for name in ("group", "gshadow", "passwd", "shadow")))
        found = [str(p.relative_to(self.folder)) for p in self.folder.rglob("*braze*")]
        text = subprocess.run(["grep", "-rIl", "braze", "etc", "var/lib"], cwd=self.folder, capture_output=True,
                              text=True).stdout.split()
        return sorted(p for p in {*found, *text} if not p.startswith(own))
