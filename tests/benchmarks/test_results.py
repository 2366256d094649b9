"""Figures are stored by their names, in one file for all benchmarks."""

import json
from pathlib import Path

import pytest

from benchmarks.figure import Figure
from benchmarks.results import keep


def test_figures_of_other_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    keep([Figure(name="old", value=1, unit="s"), Figure(name="again", value=1, unit="s")])
    keep([Figure(name="again", value=2, unit="s"), Figure(name="new", value=3, unit="s")])

    kept = json.loads((tmp_path / "build" / "bench.json").read_text())
    assert {each["name"]: each["value"] for each in kept} == {"old": 1, "again": 2, "new": 3}
