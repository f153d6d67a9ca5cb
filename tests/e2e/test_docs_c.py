# SPDX-License-Identifier: Apache-2.0
"""The C that the documentation shows compiles as C and as C++, its Fortran as Fortran 2018, and runs."""

import re
import shutil
import subprocess

import pytest
from harness import ROOT, Daemon

BUILD = ROOT / "build/client/c"
SNIPPETS = [text for page in sorted((ROOT / "docs").glob("*.md"))
            for text in re.findall(r"```c\n(.*?)```", page.read_text(), re.S)
            if "braze.h" in text]
COMPILERS = {"c": ("gcc", "-std=c11"), "cc": ("g++", "-std=c++17")}


def test_there_are_snippets():
    assert SNIPPETS


@pytest.mark.parametrize("text", SNIPPETS)
@pytest.mark.parametrize("ending", COMPILERS)
def test_snippets_compile_and_run(tmp_path, ending, text):
    compiler, standard = COMPILERS[ending]
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    source, program = tmp_path / f"snippet.{ending}", tmp_path / "snippet"
    source.write_text(text)
    subprocess.run([compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                    f"-I{ROOT / 'client/c'}", source, "-o", program, f"-L{BUILD}", "-lbraze",
                    f"-Wl,-rpath,{BUILD}", "-lm"], check=True)
    with Daemon() as daemon:
        done = subprocess.run([program], env={"BRAZE_SOCKET": daemon.socket}, timeout=60,
                              capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout, done.stderr


FORTRAN = [text for text in re.findall(r"```fortran\n(.*?)```", (ROOT / "docs/fortran.md").read_text(), re.S)
           if text.startswith("program")]


@pytest.mark.skipif(not shutil.which("gfortran"), reason="there is no gfortran")
def test_programs_in_fortran_compile_and_run(tmp_path):
    built = ROOT / "build/client/fortran"
    assert FORTRAN
    for n, text in enumerate(FORTRAN):
        source, program = tmp_path / f"walk{n}.f90", tmp_path / f"walk{n}"
        source.write_text(text)
        subprocess.run(["gfortran", "-std=f2018", "-Wall", "-Werror", f"-I{built / 'modules'}", source, "-o", program,
                        f"-L{built}", "-lbraze_fortran", f"-L{BUILD}", "-lbraze", f"-Wl,-rpath,{built}:{BUILD}"],
                       check=True, cwd=tmp_path)
        with Daemon() as daemon:
            done = subprocess.run([program], env={"BRAZE_SOCKET": daemon.socket}, timeout=60, capture_output=True, text=True)
        assert done.returncode == 0 and len(done.stdout.split()) == 2, done.stderr


def test_the_header_compiles_as_both(tmp_path):
    """Also what bindings include, and each code of errors.def with its number."""
    rows = re.findall(r"^ERROR\((\d+), (\w+),", (ROOT / "proto/errors.def").read_text(), re.M)
    checks = "\n".join(f"typedef char check_{name}[BRAZE_E_{name} == {number} ? 1 : -1];"
                       for number, name in rows)
    for ending, (compiler, standard) in COMPILERS.items():
        if not shutil.which(compiler):
            continue
        source = tmp_path / f"header.{ending}"
        source.write_text(f"#include <braze_fast.h>\n{checks}\n")
        subprocess.run([compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                        "-fsyntax-only", f"-I{ROOT / 'client/c'}", source], check=True)
    assert len(rows) >= 26


def test_an_operation_is_named_in_messages(tmp_path):
    source, program = tmp_path / "names.c", tmp_path / "names"
    source.write_text(r"""
#include <braze.h>
#include <stdio.h>
int main(void)
{
	braze_session *s = NULL;
	braze_array *a = NULL, *r = NULL;
	braze_error e = {0};
	if (braze_connect(&s, NULL, &e) ||
	    braze_arange(&a, s, BRAZE_FLOAT64, 4, braze_double(0), braze_double(1), &e))
		return 1;
	braze_arg arg[1] = {braze_arg_array(a)};
	const char *const wrong[] = {"take", "sum", "matmul"};
	for (int i = 0; i < 3; i++) {
		if (braze_op_find(wrong[i]) < 0)
			continue;
		braze_apply(&r, s, braze_op_find(wrong[i]), 1, arg, &e);
		puts(e.text);
	}
	braze_apply(&r, s, 4000, 1, arg, &e);
	puts(e.text);
	braze_reduce(&r, braze_op_find("add"), a, 1, 0, -1, &e);
	puts(e.text);
	return 0;
}
""")
    subprocess.run(["cc", f"-I{ROOT / 'client/c'}", source, "-o", program, f"-L{BUILD}",
                    "-lbraze", f"-Wl,-rpath,{BUILD}"], check=True)
    with Daemon() as daemon:
        lines = subprocess.run([program], env={"BRAZE_SOCKET": daemon.socket}, check=True,
                               capture_output=True, text=True).stdout.splitlines()
    assert "sum is not elementwise" in lines and "matmul is not elementwise" in lines
    assert lines[-2:] == ["an unknown operation is not elementwise", "add is not a reduction"]
    assert not any(re.search(r"operation \d", line) for line in lines)


def test_no_message_numbers_an_operation():
    """In the sources of daemon and client: a format that shows an operation's number."""
    found = []
    for folder in ("client", "daemon", "proto"):
        for path in (ROOT / folder).rglob("*.[ch]"):
            for call in re.findall(r'err_(?:set|context)\([^;]*?"((?:[^"\\]|\\.)*)"',
                                   path.read_text()):
                if re.search(r"\b(?:operation|op) %[ud]", call) and "part op %u" not in call:
                    found.append(f"{path.name}: {call}")
    assert found == []
