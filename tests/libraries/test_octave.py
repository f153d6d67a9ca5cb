# SPDX-License-Identifier: Apache-2.0
"""Octave's package: installed by `pkg install`, its arrays give what Octave's own give."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from harness import ROOT, clean_environment, wait_until

HERE = ROOT / "tests" / "octave"
SOURCES = ROOT / "client" / "octave"
sys.path.insert(0, str(HERE))
import expressions  # noqa: E402

SEED, STATEMENTS = 1, 800


class Octave:
    """The package, installed for this run alone, and programs that load it."""

    def __init__(self, folder, daemon):
        self.folder, self.daemon = folder, daemon
        self.prefix = folder / "prefix"

    def environment(self):
        library = ROOT / "build" / "client" / "c"
        return clean_environment(
            BRAZE_SOCKET=self.daemon.socket, HOME=str(self.folder), BRAZE_NAME="octave test",
            BRAZE_FLAGS=f"-I{SOURCES.parent / 'c'} -L{library} -lbraze -Wl,-rpath,{library}")

    def start(self, text, **pipes):
        where = f"'{self.prefix}'"
        begin = f"pkg prefix {where} {where}; pkg ('local_list', '{self.folder / 'list'}');\n"
        script = self.folder / f"script{len(list(self.folder.glob('script*')))}.m"
        script.write_text(begin + text)
        return subprocess.Popen(["octave-cli", "--norc", "--no-history", str(script)], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env=self.environment(), **pipes)

    def run(self, text, load=True, seconds=200):
        begin = f"pkg load braze; addpath ('{HERE}');\n" if load else ""
        program = self.start(begin + text)
        out, _ = program.communicate(timeout=seconds)
        assert program.returncode == 0, out
        return out

    def install(self):
        self.prefix.mkdir()
        package = subprocess.run([SOURCES / "package.sh", self.folder], check=True, text=True,
                                 capture_output=True).stdout.strip()
        return self.run(f"pkg install '{package}'", load=False, seconds=500)


@pytest.fixture(scope="module")
def octave(request, tmp_path_factory):
    if not shutil.which("mkoctfile"):
        pytest.skip("there is no mkoctfile: make setup-guests")
    made = Octave(tmp_path_factory.mktemp("octave"), request.config.braze_daemon)
    made.install()
    return made


def test_the_package_has_the_librarys_version_and_every_name_exists(octave):
    version = re.search(r'BRAZE_VERSION\s+"(.*)"', (ROOT / "client/c/braze.h").read_text())[1]
    assert f"Version: {version}\n" in (SOURCES / "DESCRIPTION").read_text()
    names = [n for line in (SOURCES / "src/functions.list").read_text().splitlines()
             if not line.startswith("#") for n in line.split()]
    assert len(names) == len(set(names)) > 100
    quoted = ", ".join(f'"{n}"' for n in names)
    out = octave.run(f"for n = {{{quoted}}}, if ! any (exist (n{{1}}) == [2 5 103]), disp (n{{1}}),"
                     " end, end, disp ('all')")
    assert out.split() == ["all"], "Octave has no function of these names"


def test_random_statements_give_what_they_give_with_octaves_arrays(octave):
    lines = expressions.statements(SEED, STATEMENTS)
    path = octave.folder / "statements"
    path.write_text("\n".join(lines))
    out = octave.run(f"compare ('{path}')")
    done, errors, differ, left = map(int, re.search(
        r"(\d+) statements, (\d+) of them errors, (\d+) differ, (\d+) times left", out).groups())
    assert done == STATEMENTS and differ == 0, out
    assert done - errors >= 500 and left < done


def test_a_comparison_can_fail(octave):
    path = octave.folder / "wrong"
    path.write_text("r = class (a);\nr = isa (a, 'braze') + a;\nr = a + 1;\n"
                    "error ('%d', isa (a, 'braze'));")
    assert "4 statements, 1 of them errors, 3 differ" in octave.run(f"compare ('{path}')")


def test_programs(octave):
    out = octave.run("programs (1); b = braze_left (); disp (numel (b))")
    assert out.count("\n| ") == 7 and out.split()[-1] == "0", "something was left to Octave"


WORDS = r"""
x = braze ([1 2 3; 4 5 6]);
y = x;  v = x(:, 2);
y(1, 1) = 100;  x(2, 2) = -1;
assert (gather (x), [1 2 3; 4 -1 6]); assert (gather (y), [100 2 3; 4 5 6]);
assert (gather (v), [2; 5]);
for same = {@(x) +x, @double, @(x) reshape (x, 1, 6), @(x) x.', @(x) x(:), @(x) squeeze (x), @braze}
  w = same{1} (x);  p = w(1, :);  clear w;  p(1) = 50;  assert (gather (x), [1 2 3; 4 -1 6]);
  w = same{1} (x);  w(1) = 50;  assert (gather (x), [1 2 3; 4 -1 6]);
  w = same{1} (x);  x(1) = 51;  assert (gather (w(1)), 1);  x(1) = 1;
end
clear w p same
x
printf ("%d|", x); printf ("\n");
disp (braze (int8 ([1 2]))); braze (true)
assert (class (x), "braze"); assert (isa (x, "float")); assert (isa (x, "double"));
assert (! isa (x, "single")); assert (isnumeric (x) && isreal (x) && ismatrix (x));
assert (size (x), [2 3]); assert (ndims (x), 2); assert (isempty (braze (zeros (0, 3))));
assert (x(end, end) == 6 && x(end) == 6);
k = 0; for c = x, k += sum (c); end, assert (gather (k), 15);
if (x(1)), disp ("true"), end
a = zeros (2, 2); a(:, 1) = x(:, 1); assert (a, [1 0; 4 0]); assert (class (a), "double");
s.f = x; s.f(1) = 9; assert (gather (s.f(1)), 9); assert (gather (x(1)), 1);
for e = {"1 ./ sqrt (z)", "1 ./ -0 .* abs (z)", "abs (z) ./ -0", "(z - 1) .^ Inf", "z .^ 0.5 .* -0"}
  z = [-0 0 4];  theirs = sqrt (eval (e{1}));
  z = braze (z);  mine = gather (sqrt (eval (e{1})));
  assert (mine, theirs); assert (isreal (mine), isreal (theirs));
end
x++; x += 1; assert (gather (x(1)), 3);
assert (gather (cellfun (@numel, {x, y})), [6 6]);
assert (gather (interp1 ([1 2 3], braze ([4 5 6]), 2.5)), 5.5);
for bad = {"text", {1}, struct(), @sin, sparse(1)}
  try, braze (bad{1}); error ("taken"); catch e, assert (strncmp (e.message, "braze: an array of num", 22)); end
end
try, x(3, 9, 1), catch e, disp (e.message), end
try, x + [1 2], catch e, disp (e.message), end
try, x{1}, catch e, disp (e.message), end
try, x.f, catch e, disp (e.message), end
try, braze (), catch e, disp (e.message), end
"""


def test_values_names_and_errors(octave):
    out = octave.run(WORDS)
    assert "x =\n\n   1   2   3\n   4  -1   6\n\n" in out and "1|4|2|-1|3|6|" in out
    assert "  1  2\nans = 1\n" in out and "true" in out
    assert "x(3,_,_): out of bound 2 (dimensions are 2x3)" in out
    assert "operator +: nonconformant arguments (op1 is 2x3, op2 is 1x2)" in out
    assert "matrix cannot be indexed with {" in out and "Invalid call to braze" in out


def test_a_handle_dies_with_its_value_and_a_lost_daemon_is_told(octave):
    daemon = octave.daemon
    program = octave.start("""pkg load braze
x = braze (ones (300, 300));
for k = 1:400
  y = x * 2 + k;  z = y(2:end, :);  z(1) = 5;  s = sum (z(:));  q = {y, z};
end
clear y z q s
x(1) = 2;  assert (gather (sum (x(:))), 90001);
puts ("ready\\n"); fflush (stdout);
while (! exist (fullfile (getenv ("HOME"), "go"), "file")), pause (0.05), end
""")
    assert program.stdout.readline() == "ready\n"
    try:
        (row,) = (r for r in daemon.clients() if r["name"] == "octave test")
        assert 1 <= row["arrays"] < 20 and row["ops"] > 1000, row
    finally:
        (octave.folder / "go").touch()
        out, _ = program.communicate(timeout=60)
    assert program.returncode == 0, out
    wait_until(lambda: not any(r["name"] == "octave test" for r in daemon.clients()), 20,
               "the end of Octave's session")
    assert pathlib.Path(daemon.socket).exists() and os.path.exists(octave.prefix)
