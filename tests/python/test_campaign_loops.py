# SPDX-License-Identifier: Apache-2.0
"""The campaign of loops sees what differs, and who does not come back."""

import campaign_loops as loops
import pytest

@pytest.fixture
def told(monkeypatch):
    """What a way says of structures 0 and 1, in place of a process: a dict to change."""
    lines = {way: ({n: f"{n} {' '.join(['ab'] * loops.CALLS)} ." for n in (0, 1)}, None) for way in loops.WAYS}
    monkeypatch.setattr(loops, "lines_by", lambda way, first, last, environment, ways: lines[way])
    return lines


def test_what_agrees_is_counted_by_way(told):
    passed, failures = loops.chunk(0, 2, {})
    assert not failures and set(passed.values()) == {2 * loops.CALLS} and len(passed) == len(loops.WAYS) - 1


def test_a_call_that_differs_is_told_with_its_text(told):
    told["compiled"][0][1] = told["compiled"][0][1].replace("ab", "cd", 1)
    passed, failures = loops.chunk(0, 2, {})
    assert len(failures) == 1 and "compiled, structure 1, calls [0]" in failures[0]
    assert loops.structure(1).text in failures[0]
    assert passed["compiled"] == loops.CALLS and passed["interpreted"] == 2 * loops.CALLS


def test_a_process_that_dies_is_told(told):
    told["at once"] = {}, "at once: status -11\n"
    passed, failures = loops.chunk(0, 2, {})
    assert failures == ["structures 0 to 2, at once: status -11\n"] and passed["at once"] == 0


def test_one_that_hangs_is_stopped(monkeypatch, tmp_path):
    (tmp_path / "child.py").write_text("import time; time.sleep(600)")
    monkeypatch.setattr(loops, "LIMIT", 0.2)
    monkeypatch.setattr(loops, "__file__", str(tmp_path / "child.py"))
    lines, wrong = loops.lines_by("compiled", 0, 1, {})
    assert not lines and wrong.startswith("compiled: status -9")


def test_each_kind_of_structure_runs(capsys):
    loops.child(0, len(loops.KINDS), loops.REFERENCE)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(loops.KINDS) and all(line.endswith(" .") for line in lines)
    assert sum("refused" not in line for line in lines) >= len(lines) - 1
