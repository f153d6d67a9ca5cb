# SPDX-License-Identifier: Apache-2.0
"""deploy/lint/lint.py - the rules of this tree that a compiler does not check.

In:  the sources, and a build in build/ (for the symbols that objects export).
Out: one line per breach, the ten longest functions, exit 1 when a rule is broken.
Each rule is one function below, listed in RULES.  An exception is a line of
exceptions.txt with its reason; one that is no longer needed is a breach too.
"""

import itertools
import re
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

import lizard

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
FILE_LINES, FUNCTION_LINES, MEDIAN_LINES, COMPLEXITY = 800, 60, 12, 15
SPDX = "SPDX-License-Identifier: Apache-2.0"
HEADED = {".c", ".h", ".cc", ".hh", ".cuh", ".py", ".sh", ".def", ".proto", ".f90", ".m"}

# The folders of daemon/ in the order of their including: each sees base/, proto/, kernels/ and those
# before it that stand beside its name.  What stands in daemon/ itself sees everything and is seen
# by nobody.
ORDER = (
    ("base", ""),
    ("lang", ""),
    ("call", "base"),
    ("form", "base lang call"),
    ("contract", "form"),
    ("trace", "base form"),
    ("wire", "base trace"),
    ("future", "base trace wire"),
    ("handover", "base trace future"),
    ("nest", "base call form"),
    ("plan", "base form trace nest"),
    ("emit", "base lang call form contract"),
    ("compile", "base contract"),
    ("cache", "base call form contract emit compile"),
    ("run", "base call form contract trace plan cache"),
    ("worker", "base lang call form contract"),
    ("cuda", "base call contract emit worker"),
    ("ctl", "base wire"),
)


class Exceptions:
    def __init__(self, path):
        self.limits, self.used = {}, set()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split(None, 3)
            if len(fields) < 4:
                sys.exit(f"{path.name}:{number}: want PATH RULE LIMIT REASON")
            self.limits[fields[0], fields[1]] = fields[2]

    def allows(self, where, rule, value):
        # A place may be a pattern: trace.c:version_*.
        key = next((k for k in self.limits if k[1] == rule and fnmatchcase(where, k[0])), None)
        if key is None:
            return False
        limit = self.limits[key]
        self.used.add(key)
        return limit == "-" or value <= int(limit)

    def unused(self):
        return sorted(set(self.limits) - self.used)


def tracked():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True,
                         capture_output=True)
    if out.returncode == 0:
        names = out.stdout.splitlines()
    else:  # a source archive
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if BUILD not in p.parents]
    return [ROOT / n for n in sorted(names) if (ROOT / n).is_file()]


def name_of(path):
    return str(path.relative_to(ROOT))


# ---- budgets ----

def budgets(files, exceptions):
    """Lines of a file and of a function, branches of a function."""
    functions = []
    for path in files:
        if path.suffix not in {".c", ".h", ".cc", ".hh", ".cuh", ".py"}:
            continue
        name = name_of(path)
        lines = path.read_text(errors="replace").count("\n")
        if lines > FILE_LINES and not exceptions.allows(name, "lines", lines):
            yield f"{name}: {lines} lines, budget {FILE_LINES}"
        analysed = path.with_suffix(".h") if path.suffix == ".cuh" else path
        info = lizard.analyze_file.analyze_source_code(str(analysed),
                                                       path.read_text(errors="replace"))
        for f in info.function_list:
            functions.append((f.length, f.cyclomatic_complexity, f.name, name, f.start_line))
    for length, branches, function, name, line in functions:
        where = f"{name}:{function}"
        if length > FUNCTION_LINES and not exceptions.allows(where, "function", length):
            yield f"{name}:{line}: {function} has {length} lines, budget {FUNCTION_LINES}"
        if branches > COMPLEXITY and not exceptions.allows(where, "complexity", branches):
            yield f"{name}:{line}: {function} has complexity {branches}, budget {COMPLEXITY}"
    median = statistics.median(f[0] for f in functions)
    if median > MEDIAN_LINES:
        yield f"the median function has {median:g} lines, budget {MEDIAN_LINES}"
    print(f"{len(functions)} functions, median {median:g} lines; the longest (lines, complexity):")
    for length, branches, function, name, line in sorted(functions, reverse=True)[:10]:
        print(f"  {length:4d} {branches:3d}  {function}  {name}:{line}")


# ---- texts ----

def heads(files, _):
    """Every source file opens with its licence line."""
    for path in files:
        if path.suffix in HEADED or path.name in {"Makefile"}:
            top = "\n".join(path.read_text(errors="replace").splitlines()[:3])
            if SPDX not in top and path.stat().st_size:
                yield f"{name_of(path)}: no '{SPDX}' in its first three lines"


def leftovers(files, _):
    """Nothing is left for later in the tree."""
    words = re.compile(r"\b(%s)\b" % "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK"]))
    for path in files:
        if path.suffix in HEADED | {".txt", ".md", ".in"} or path.name == "CMakeLists.txt":
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if words.search(line):
                    yield f"{name_of(path)}:{number}: {line.strip()[:80]}"


def included(path, daemon):
    """(line number, header) for each header of daemon/ that a file includes."""
    pattern = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = pattern.match(line)
        places = (path.parent / match[1], daemon / match[1]) if match else ()
        target = next((p.resolve() for p in places if p.resolve().is_file()), None)
        if target is not None and daemon in target.parents:
            yield number, target.relative_to(daemon)


def folder_of(inside):
    """Folder of daemon/ that a file is in; "" for what belongs to every stage."""
    return inside.parts[0] if len(inside.parts) > 1 else ""


def includes(files, exceptions):
    """A folder of daemon/ includes what ORDER says: no circle, nothing upwards."""
    daemon, before = ROOT / "daemon", set()
    allowed = {folder: {folder, *sees.split()} for folder, sees in ORDER}
    used = set()
    for path in (p for p in files if daemon in p.parents and p.suffix in {".c", ".h"}):
        folder = folder_of(path.relative_to(daemon))
        for number, seen in included(path, daemon) if folder else ():
            used.add((folder, folder_of(seen)))
            if (folder_of(seen) not in allowed.get(folder, ())
                    and not exceptions.allows(f"{name_of(path)}:{seen}", "include", 0)):
                yield f"{name_of(path)}:{number}: may not include {seen}"
    for folder, sees in ORDER:
        for s in sees.split():
            if s not in before:
                yield f"ORDER: {folder} sees {s}, which does not stand before it"
            if (folder, s) not in used:
                yield f"ORDER: {folder} does not use {s}"
        before.add(folder)


# ---- symbols ----

def symbols(archive):
    out = subprocess.run(["nm", "-A", "--defined-only", "--extern-only", archive], text=True,
                         capture_output=True)
    for line in out.stdout.splitlines():
        match = re.match(r".*?:([^:]+\.o):\s*[0-9a-f]* ([A-Z]) (\S+)$", line)
        if match:
            yield match[1], match[2], match[3]


def names(_, exceptions):
    """A function's name tells its file."""
    archives = [BUILD / "daemon/libbrazed_core.a", BUILD / "daemon/libbraze_lang.a"]
    if not all(a.exists() for a in archives):
        yield "the daemon's archives are not built: run make first"
        return
    for member, kind, symbol in itertools.chain.from_iterable(map(symbols, archives)):
        stem = member.split(".")[0]
        if kind != "T" or symbol == stem or \
                symbol.startswith((stem + "_", stem.split("_")[0] + "_", "_")):
            continue
        if not exceptions.allows(f"{stem}.c:{symbol}", "name", 0):
            yield f"{stem}.c: {symbol} does not begin with {stem}_ or {stem.split('_')[0]}_"


def exports(_, exceptions):
    """libbraze shows the world braze_* only."""
    others = {"asan", "tsan", "debug", "fuzz"}
    for library in sorted(BUILD.glob("**/libbraze.so")):
        if others & set(library.relative_to(BUILD).parts):
            continue
        out = subprocess.run(["nm", "-D", "--defined-only", library], text=True,
                             capture_output=True).stdout
        for line in out.splitlines():
            symbol = line.split()[-1].split("@")[0]
            if symbol.startswith(("braze_", "BRAZE_")) or symbol in {"_init", "_fini"}:
                continue
            if not exceptions.allows(f"{library.name}:{symbol}", "export", 0):
                yield f"{library.name}: exports {symbol}"


# ---- headers and format ----

def flags_of_includes():
    text = [f"-I{ROOT / d}" for d in ("proto", "daemon", "kernels", "client/c")]
    text.append(f"-I{BUILD / 'proto'}")
    found = subprocess.run(["pkg-config", "--cflags", "libuv", "libprotobuf-c", "libcjson",
                            "libmicrohttpd"], text=True, capture_output=True)
    return text + found.stdout.split()


def headers(files, _):
    """Each header compiles alone, so that include order never matters."""
    flags = flags_of_includes()
    chosen = [p for p in files if p.suffix == ".h" and
              p.relative_to(ROOT).parts[0] in {"proto", "daemon", "client", "tests"}
              and "python" not in p.relative_to(ROOT).parts]

    def check(path):
        done = subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter",
                               "-fsyntax-only", "-x", "c", *flags, f"-I{path.parent}", "-include",
                               path, "/dev/null"], text=True, capture_output=True)
        return path, done

    with ThreadPoolExecutor(2) as pool:
        for path, done in pool.map(check, chosen):
            if done.returncode or "warning:" in done.stderr:
                first = (done.stderr.strip().splitlines() or ["?"])[0]
                yield f"{name_of(path)}: does not compile alone: {first}"


def formatted(files, _):
    """clang-format decides the layout; only its version 14 is the judge."""
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    version = subprocess.run([tool, "--version"], text=True, capture_output=True).stdout \
        if tool else "none"
    if not re.search(r"version 14\.", version):
        print(f"format: skipped, wants clang-format 14, found {version.strip()}")
        return
    chosen = [p for p in files if p.suffix in {".c", ".h", ".cc", ".hh"}]
    done = subprocess.run([tool, "--dry-run", *chosen], text=True, capture_output=True)
    for name in sorted(set(re.findall(r"^(.*?):\d+:\d+: warning", done.stderr, re.M))):
        yield f"{name_of(Path(name))}: layout differs from clang-format's (make fmt)"


# ---- tables against the documentation ----

def rows(path, macro):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    for match in re.finditer(rf"^{macro}\((.*?)\)$", text, re.M | re.S):
        yield [field.strip().strip('"') for field in
               re.findall(r'\s*("(?:[^"\\]|\\.)*"|[^,]+)', match[1])]


def documented(files, _):
    """Every row of a table stands on the page that documents it, and the other way round."""
    tables = [
        ("proto/ops.def", "OP", lambda r: r[1], "docs/ops.md",
         r"^\|\s*\d+\s*\|\s*`?([A-Z][A-Z0-9_]*)`?\s*\|"),
        ("daemon/ctl/stats.def", "STAT", lambda r: r[0], "docs/operators.md",
         r"^\|\s*`(braze_[a-z0-9_]+)`\s*\|"),
        ("daemon/config.def", "SETTING", lambda r: r[0], "docs/operators.md",
         r"^\|\s*`([a-z][a-z_]*)`\s*\|\s*`?BRAZE_"),
        ("daemon/config.def", "SETTING", lambda r: r[0], "deploy/brazed.conf", r"^#?([a-z_]+) =(?=[^\[]*^# Behind)"),
        ("daemon/limits.def", "LIMIT", lambda r: r[0], "docs/operators.md",
         r"^\|\s*`([a-z_]+)`\s*\|\s*[0-9]+M? to "),
    ]
    for table, macro, key, page, pattern in tables:
        if not (ROOT / table).exists() or not (ROOT / page).exists():
            continue
        wanted = {key(r) for r in rows(ROOT / table, macro)}
        found = set(re.findall(pattern, (ROOT / page).read_text(), re.M))
        for name in sorted(wanted - found):
            yield f"{page}: lacks {name} of {table}"
        for name in sorted(found - wanted):
            yield f"{page}: {name} is not in {table}"


RULES = [budgets, heads, leftovers, includes, names, exports, headers, formatted, documented]
LONGEST = [budgets, formatted, headers]


def main():
    files = tracked()
    exceptions = Exceptions(Path(__file__).with_name("exceptions.txt"))
    breaches = 0
    # Two at a time, the longest first: most of their time is other programs'.
    with ThreadPoolExecutor(2) as pool:
        running = {rule: pool.submit(lambda rule: list(rule(files, exceptions)), rule)
                   for rule in dict.fromkeys(LONGEST + RULES)}
    for rule in RULES:
        found = running[rule].result()
        breaches += len(found)
        for text in found:
            print(f"{rule.__name__}: {text}")
    for where, rule in exceptions.unused():
        breaches += 1
        print(f"exceptions: {where} {rule} is not needed any more")
    print(f"lint: {len(files)} files, {breaches} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
