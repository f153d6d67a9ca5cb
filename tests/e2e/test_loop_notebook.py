# SPDX-License-Identifier: Apache-2.0
"""docs/loops.ipynb runs, and shows what it says it shows; but for times, whose cells are tagged."""

import json
import pathlib
import re

import pytest
from notebook import Notebook

BOOK = pathlib.Path(__file__).parents[2] / "docs/loops.ipynb"


def shown(outputs):
    text = ""
    for out in outputs:
        text += "".join(out["text"] if out["output_type"] == "stream" else out["data"]["text/plain"])
    return text


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_notebook_shows_what_it_says(daemon, threads):
    cells = [c for c in json.loads(BOOK.read_text())["cells"] if c["cell_type"] == "code"]
    book = Notebook(["".join(c["source"]) for c in cells], daemon, BRAZE_THREADS=threads)
    try:
        for i, cell in enumerate(cells):
            book.send(i)
            have, error = book.collect()
            assert error is None, "".join(cell["source"])
            if "times" not in cell["metadata"].get("tags", ()):
                assert re.sub(r"/\S+/ipykernel_\d+/\d+\.py", "<cell>", have) == shown(cell["outputs"])
    finally:
        book.end()
    assert len(cells) > 10
