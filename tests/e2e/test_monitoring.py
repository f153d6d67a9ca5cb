# SPDX-License-Identifier: Apache-2.0
"""Grafana's dashboard and Prometheus' rules in deploy/monitoring: every metric that they name is one."""

import json
import re
import shutil
import subprocess

import pytest
from harness import ROOT, Daemon, fetch

FOLDER = ROOT / "deploy/monitoring"
RULES = FOLDER / "braze-alerts.yml"
DASHBOARD = json.loads((FOLDER / "braze-dashboard.json").read_text())
METRIC = re.compile(r"\bbraze_\w+")


@pytest.fixture(scope="module")
def kinds():
    """Each metric's type, as the daemon tells it."""
    with Daemon() as daemon:
        _, text = fetch(daemon.status_socket, "/metrics")
    return dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))


def expressions():
    """Of rules and of the dashboard."""
    text = RULES.read_text()
    rules = re.findall(r"^ +expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", text, re.M)
    assert len(rules) == len(re.findall("- alert:", text)) >= 10
    targets = [t["expr"] for p in DASHBOARD["panels"] for t in p["targets"]]
    assert len(targets) >= 20
    return [a or b for a, b in rules] + targets


def test_every_metric_is_one(kinds):
    for text in expressions():
        names = METRIC.findall(text)
        assert names or "up{" in text
        assert set(names) <= set(kinds), text


def test_counters_are_looked_at_by_their_rate_and_gauges_are_not(kinds):
    for text in expressions():
        rated = set(re.findall(r"\b(?:rate|increase)\((braze_\w+)", text))
        for name in METRIC.findall(text):
            assert (kinds[name] == "counter") == (name in rated), text


def test_panels_have_places_and_ids_of_their_own():
    panels = DASHBOARD["panels"]
    assert len({p["id"] for p in panels}) == len(panels) and len({p["title"] for p in panels}) == len(panels)
    fields = set()
    for p in panels:
        at = p["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & fields
        fields |= cells
        assert p["fieldConfig"]["defaults"]["unit"] and all(t["legendFormat"] for t in p["targets"])
        assert p["datasource"]["uid"] == "${datasource}"


def test_every_rule_says_what_to_do():
    for rule in RULES.read_text().split("- alert:")[1:]:
        assert re.search(r"severity: (critical|warning|info)\}", rule) and "summary:" in rule and "description:" in rule


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool: apt-get install prometheus")
def test_promtool_reads_the_rules():
    done = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_docs_name_them():
    text = (ROOT / "docs/operators.md").read_text()
    assert "deploy/monitoring/braze-alerts.yml" in text and "deploy/monitoring/braze-dashboard.json" in text
