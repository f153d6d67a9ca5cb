# SPDX-License-Identifier: Apache-2.0
"""Tables of what run_programs.py measured, on paper and in docs/benchmarks.md."""

import math
import pathlib
import statistics
import subprocess

from .table import GROUPS, PROGRAMS, SIZES

ROOT = pathlib.Path(__file__).resolve().parents[3]
RESULTS = ROOT / "build/reports/programs.json"
PAGE, PLOT = ROOT / "docs/benchmarks.md", ROOT / "docs/programs.svg"
BEGIN, END = "<!-- programs: begin -->", "<!-- programs: end -->"
WORST = 25

# The ratios, NumPy's time over braze's: name, and how a case gives it.
RATIOS = {
    "warm": lambda r: r["numpy"] / r["braze"],
    # Of the shortest calls: on a busy machine what a round trip's wake-ups cost is left out.
    "warm, best": lambda r: r["best"][0] / r["best"][1],
    "first": lambda r: r["numpy_first"] / r["first"],
    "first, warm caches": lambda r: r["warm_first"]["numpy"] / r["warm_first"]["braze.numpy"],
    "whole process": lambda r: r["whole"]["numpy"] / r["whole"]["braze.numpy"],
}


def ratio(result, which):
    try:
        return RATIOS[which](result)
    except KeyError:
        return None


def mean(values):
    values = [v for v in values if v]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def shown(value):
    if value is None:
        return ""
    return f"{value:.1g}" if value < 0.095 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g}"


def line(case, r):
    """One case, as it is measured."""
    if "numpy" not in r:
        return f"{case:34} ERROR {r['error']}"
    warm = r["warm"]
    fall = ", ".join(f"{k} {v}" for k, v in warm["fallbacks"].items())
    near = f" near {warm['near']}" if "near" in warm else ""
    peak = ""
    if "peak" in r:
        mine, theirs = r["peak"]["braze.numpy"], r["peak"]["numpy"]
        peak = f" MB {mine / 1e6:.0f}/{theirs / 1e6:.0f}"
    fault = "".join(f" {word.upper()} {r[word]}" for word in ("wrong", "error") if r.get(word))
    return (f"{case:34} numpy {milliseconds(r['numpy']):>8} ms  "
            + " ".join(f"{n} {shown(ratio(r, n))}x" for n in RATIOS)
            + f"  trips {warm['round_trips']} ops {warm['ops']}{near} plans {warm['plans']}"
            f"+{warm['hits']} (cold {r['cold']['plans']}, kernels {r['cold']['kernels']})"
            + (f" fallbacks {fall}" if fall else "") + peak + fault)


def pick(results, group=None, size=None):
    for case, r in results["cases"].items():
        name, own = case.split("/")
        if name in PROGRAMS and "numpy" in r and (group is None or PROGRAMS[name].group == group) \
                and (size is None or own == size):
            yield case, r


def means(results):
    """Rows: group, size, how many, geometric means, how many below 0.95."""
    for group in (*GROUPS, None):
        for size in SIZES:
            found = [r for _, r in pick(results, group, size)]
            if found:
                warm = [ratio(r, "warm") for r in found]
                yield [GROUPS.get(group, "all"), size, str(len(found)),
                       *(shown(mean(ratio(r, n) for r in found)) for n in RATIOS),
                       str(sum(w < 0.95 for w in warm))]


def peers(results):
    """Rows: peer, size, programs, its mean over NumPy, braze's over the same programs."""
    for peer in ("numexpr", "numba", "jax"):
        for size in SIZES:
            theirs, mine = [], []
            for case, by_size in results["peers"].items():
                name, own = case.split("/")
                r, ours = by_size.get(size, {}), results["cases"].get(f"{name}/{size}", {})
                if own == peer and "peer" in r and "braze" in ours:
                    theirs.append(r["numpy"] / r["peer"])
                    mine.append(ratio(ours, "warm"))
            if theirs:
                yield [peer, size, str(len(theirs)), shown(mean(theirs)), shown(mean(mine))]


def worst(results):
    """Rows of the cases with the smallest warm ratios."""
    cases = sorted(pick(results), key=lambda c: ratio(c[1], "warm"))
    for case, r in cases[:WORST]:
        warm = r["warm"]
        yield [case, milliseconds(r["numpy"]), *(shown(ratio(r, n)) for n in RATIOS),
               str(warm["round_trips"]), str(warm["ops"]), f"{warm['plans']}+{warm['hits']}",
               "/".join(milliseconds(t) for t in r.get("processor", {}).values()),
               " ".join(f"{k} {v}" for k, v in warm["fallbacks"].items())]


def programs(results):
    """Rows of all programs: warm ratios by size, and what the largest one needed."""
    for name, program in PROGRAMS.items():
        found = {s: results["cases"].get(f"{name}/{s}") for s in SIZES}
        found = {s: r for s, r in found.items() if r and "numpy" in r}
        if not found:
            continue
        last = list(found.values())[-1]
        peak = last.get("peak")
        share = peak["braze.numpy"] / peak["numpy"] if peak and peak["numpy"] else None
        ways = [shown(ratio(found[s], "warm")) if s in found else "" for s in SIZES]
        warm = last["warm"]
        yield [name, program.group, program.kind, str(program.sizes["memory"]).strip("(),"),
               milliseconds(last["numpy"]), *ways, shown(ratio(last, "first")),
               shown(ratio(last, "whole process")), str(warm["round_trips"]), str(warm["ops"]),
               str(warm.get("near", "")), str(last["cold"]["plans"]),
               str(last["cold"]["kernels"]), str(sum(warm["fallbacks"].values())), shown(share)]


HEADS = {
    means: ["group", "size", "programs", *RATIOS, "warm below 0.95"],
    peers: ["peer", "size", "programs", "peer", "braze on the same"],
    worst: ["program", "NumPy, ms", *RATIOS, "round trips", "operations", "plans new+known",
            "client/broker/worker, ms", "fallbacks"],
    programs: ["program", "group", "class", "in memory", "NumPy, ms", *SIZES, "first", "whole",
               "round trips", "operations", "near", "plans", "kernels", "fallbacks", "peak"],
}


def plain(head, rows):
    rows = [head, *rows]
    widths = [max(len(r[k]) for r in rows) for k in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip()
                     for r in rows)


def markdown(head, rows):
    return "\n".join("| " + " | ".join(r) + " |" for r in (head, ["---"] * len(head), *rows))


def faults(results):
    for case, r in results["cases"].items():
        for word in ("wrong", "error"):
            if r.get(word):
                yield f"{case}: {word}: {r[word]}"


def text(results):
    """All of it, as a run ends."""
    parts = []
    for table in (programs, worst, peers, means):
        rows = list(table(results))
        if rows:
            parts += [plain(HEADS[table], rows), ""]
    total = sum(len({p.sizes[s] for s in SIZES}) for p in PROGRAMS.values())
    parts.append(f"{len(results['cases'])} of {total} cases measured, NumPy's time over braze's")
    parts += ["wrong or failed:", *faults(results)] if any(faults(results)) else []
    return "\n".join(parts)


def page(results):
    loads = results["loads"] or [0.0]
    how = "quick run: up to 5 rounds" if results["mode"] == "quick" else "medians of up to 15 rounds"
    parts = [BEGIN, "", f"NumPy's time over braze's, so above 1 braze is faster; {how}, load of the machine "
             f"{statistics.median(loads):.1f} at the median. {len(results['cases'])} cases.", "",
             markdown(HEADS[means], means(results)), ""]
    rows = list(peers(results))
    if rows:
        parts += ["Peers, warm, over the programs that each runs:", "", markdown(HEADS[peers], rows), ""]
    parts += [f"The {WORST} smallest warm ratios; counts and processor times are of one warm call:", "",
              markdown(HEADS[worst], worst(results)), "", "![Warm ratios of all programs](programs.svg)", "",
              "All programs; `first`, `whole`, counts and peak memory (braze's over NumPy's) are of the "
              "largest size measured:", "", markdown(HEADS[programs], programs(results)), "", END]
    return "\n".join(parts)


def write_docs(results, plotter, path):
    old = PAGE.read_text()
    head, _, rest = old.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(head + page(results) + tail)
    if plotter.exists():
        done = subprocess.run([str(plotter), "-m", "programs.plot", str(path), str(PLOT)], text=True,
                              capture_output=True, cwd=ROOT / "tests/bench")
        if done.returncode:
            print(f"plot: {done.stderr.strip().splitlines()[-1]}")
    else:
        print("plot: left out, as build/venv-peers is not there (make bench-peers)")
