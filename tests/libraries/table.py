# SPDX-License-Identifier: Apache-2.0
"""The calls of calls.toml as the table of docs/compatibility.md; run as a program, writes it."""

import pathlib
import textwrap
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "compatibility.md"
BEGIN = "<!-- libraries: written by tests/libraries/table.py -->"
END = "<!-- end of libraries -->"
DATA = tomllib.loads((HERE / "calls.toml").read_text())
CALLS = DATA["call"]
SAYS = {"works": "works", "copy": "works by copy", "raises": "raises"}


def row(call):
    """One line of the table."""
    code = "<br>".join(
        f"`{line}`".replace("|", "\\|")
        for line in textwrap.dedent(call["call"]).strip().splitlines() if line
    )
    what = SAYS[call["outcome"]]
    if call["outcome"] == "raises":
        do = textwrap.dedent(call["instead"]).strip().splitlines()[-1]
        what = f"raises, naming `{call['says']}`: `{do}`"
    return f"| {call['library']} | {code} | {what} |"


def table():
    """The whole table."""
    head = ["| library | call | with braze's arrays |", "|---|---|---|"]
    return "\n".join(head + [row(call) for call in CALLS])


def count():
    """The sentence above it."""
    found = [c["outcome"] for c in CALLS]
    return (f"{len(found)} calls: {found.count('works')} work, {found.count('copy')} work by "
            f"copy, {found.count('raises')} raise an error that says what to write.")


def section():
    return f"{BEGIN}\n{count()}\n\n{table()}\n{END}"


if __name__ == "__main__":
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + section() + rest.partition(END)[2])
