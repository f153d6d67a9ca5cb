# SPDX-License-Identifier: Apache-2.0
"""tests/run.py: each file of the Python suite is in one piece, and what fails in one is told."""

import pytest
import run


@pytest.fixture
def ran(monkeypatch):
    """Pieces that would have run, in place of pytest; one test of the third fails."""
    pieces = []

    def pytest_of(env, long, title, folders, to):
        pieces.append((title, list(folders), env))
        print(f"words of {title}", file=to)
        count = run.Count(len(folders), title.startswith("python 3/"), what="test_x.py::test_y")
        print(f"-- {title}: {count} in 0 s", file=to, flush=True)
        return count

    monkeypatch.setattr(run, "pytest", pytest_of)
    return pieces


def files_of(ran, part):
    return sorted(f for title, files, _ in ran if title.startswith(part) and "cuda" not in title
                  for f in files)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("long", [False, True])
def test_every_file_runs_once(ran, long, jobs):
    counts = {name: work() for name, work in run.in_python({}, long, jobs)}
    suite = sorted(run.SUITES[0].glob("test_*.py"))
    assert files_of(ran, "python 1") != suite == files_of(ran, "python ") and len(suite) > 80
    near = sorted(run.SUITES[0] / f"test_{name}.py" for name in run.NEAR_SUITES)
    assert files_of(ran, "python, near") == near
    assert files_of(ran, "end to end") == [run.SUITES[1]]
    assert counts["python"].passed == len(suite) and counts["python, near"].passed == len(near)


def test_each_piece_has_files_and_its_environment(ran):
    for _, work in run.in_python({"A": "1"}, False, 2):
        work()
    for title, files, env in ran:
        assert files, title  # pytest without a file runs all there are
        assert env["A"] == "1" and ("BRAZE_NEAR" in env) == ("near" in title)
        assert ("BRAZE_TEST_SAMPLE" in env) == ("cuda:0" in title)


def test_what_fails_in_a_piece_is_told(ran, capsys):
    counts = {name: work() for name, work in run.in_python({}, False, 2)}
    told = capsys.readouterr().out
    assert counts["python"].failed == 1 and counts["python"].names == ["test_x.py::test_y"]
    assert not any(count.failed for name, count in counts.items() if name != "python")
    assert told.count("words of python 3/") == 1 and "words of python 2/" not in told
    assert "-- python 2/" in told


def test_few_files_make_few_pieces():
    pieces = run.in_pieces("a", (f"{i}.py" for i in range(3)), 8, {})
    assert [p.files for p in pieces] == [["0.py"], ["1.py"], ["2.py"]]
