# SPDX-License-Identifier: Apache-2.0
"""What a compiler gets of a kernel's text, and what it makes of it.

A daemon's compiler can be a shell script: `compiler` writes one that keeps each source, changes it, and
asks gcc which loops became vectors.  The functions below read such a source.
"""

import re
import shlex

# The test before a loop's copy without checks is one of a number that the compiler does not know: its code stays
# as it is otherwise, the copy for when the test fails included.  Of a short way around the test only the question stays
# whether turns are few, which the loops ask anyway.
WITHOUT_TESTS = (r"s/if (BZ_RARE(bad)) goto/if (BZ_RARE((bz_u64)f->share == 1)) goto/",
                 r"s/^if (BZ_OFTEN(BZ_QUICK(.*) && (bz_u64)/if (BZ_OFTEN((bz_u64)/")
# Each check of an index counts itself in a number that the process has.
COUNTING_CHECKS = (
    r"s/^const bz_u64 bz_mark = /extern bz_u64 bz_checks;\n&/",
    r"s/BZ_INDEX\([01]\)(i_,/bz_checks += 1; &/g")


def compiler(folder, changes=()):
    """The path of a compiler that keeps `source-*` and, of each, `source-*.vectors` in the folder."""
    script = folder / "compiler"
    edit = " ".join(["sed", *(f"-e {shlex.quote(change)}" for change in changes)]) if changes else "cat"
    script.write_text(f"""#!/bin/sh
f=$(mktemp {shlex.quote(str(folder))}/source-XXXXXXXX)
{edit} > "$f"
gcc "$@" -fopt-info-vec-optimized="$f.vectors" < "$f"
""")
    script.chmod(0o755)
    return str(script)


def sources(folder):
    """(a source, lines of it whose loops are vectors) of each that was compiled."""
    for file in sorted(folder.glob("source-????????")):
        vectors = file.with_name(file.name + ".vectors")
        told = vectors.read_text() if vectors.exists() else ""
        yield file.read_text(), {int(line) for line in re.findall(r":(\d+):\d+: optimized: loop vectorized", told)}


def unchecked_copies(source):
    """Of bz_unit the copies of loops behind a test of bounds that have no test inside."""
    code = source[source.index("int bz_unit("):source.index("int bz_any(")]
    tests = list(re.finditer(r"if \(BZ_RARE\(bad\)\) goto (K\d+);", code))
    copies = [code[test.end():code.index(f"{test[1]}:;", test.end())] for test in tests]
    return [copy for copy in copies if "BZ_RARE(bad)" not in copy]


def loops_in_lanes(source, vectors):
    """The lines of the text whose innermost loops, as one thread does them, are vectors."""
    found, ends, waiting = set(), True, set()
    inside = False
    for number, line in enumerate(source.splitlines(), 1):
        if re.match(r"(static )?int bz_\w+\(", line):
            inside, ends, waiting = "int bz_unit(" in line, True, set()
        strip = re.search(r"BZ_STRIP\(\d+, c\); /\* line (\d+) \*/", line)
        if strip:
            at, ends = int(strip[1]), False
            if waiting & vectors:
                found.add(at)
            waiting = set()
        if not inside:
            continue
        if ends:
            waiting.add(number)
        elif number in vectors:
            found.add(at)
        ends = ends or ") goto S" in line
    return found
