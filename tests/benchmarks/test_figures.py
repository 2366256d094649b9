"""The benchmarks of `make bench` run, small, so that they cannot rot.

`test_stalls` and `test_compression` run the two that have more to check.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Final

import pytest

from benchmarks import __main__ as program
from benchmarks.figure import Figure
from benchmarks.macro import cleaning, clients, compaction, long_polls, sizing, stalls
from benchmarks.micro import (
    broker,
    compression,
    controller,
    fixture,
    protocol,
    records,
    salvage,
    segments,
    start,
    storage,
    switch_interval,
    workbench,
)

SIZE: Final = 1 << 20
#: The number of figures of each benchmark.
FIGURES: Final[Mapping[ModuleType, int]] = {
    broker: 6,
    cleaning: 2,
    clients: 8,
    compaction: 3,
    controller: 6,
    fixture: 4,
    long_polls: 4,
    protocol: 12,
    records: 17,
    salvage: 2 * len(segments.SHAPES),
    segments: len(segments.OPERATIONS) * (len(segments.SHAPES) + 1),
    sizing: 5,
    start: 2,
    storage: 8,
    switch_interval: 3 * len(switch_interval.INTERVALS_MS),
    workbench: 4,
}
#: Those that measure themselves next to a peer.
WITH_RATIOS: Final = (protocol,)
ELSEWHERE: Final = (compression, stalls)


@pytest.fixture(scope="module")
def names() -> set[str]:
    """Return the names of the figures that have been measured."""
    return set()


def test_every_benchmark_has_a_small_run() -> None:
    assert {*FIGURES, *ELSEWHERE} == {*program.BENCHMARKS}


@pytest.mark.parametrize("benchmark", FIGURES, ids=lambda each: each.__name__)
def test_figures_are_measured_when_small(benchmark: ModuleType, names: set[str]) -> None:
    """Results are stored by name, so two benchmarks have no name in common."""
    measured = list[Figure](benchmark.figures(SIZE))

    found = {figure.name for figure in measured}
    assert len(found) == len(measured) == FIGURES[benchmark]
    assert all(figure.value > 0 for figure in measured)
    assert benchmark not in WITH_RATIOS or all(figure.ratio for figure in measured)
    assert not found & names
    names |= found


def test_program_prints_and_stores_the_figures_of_every_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def figures(size: int) -> Iterator[Figure]:
        yield Figure(name=f"of {size}", value=1, unit="s")

    sizes = (1, 2, 3)
    fakes = [SimpleNamespace(figures=lambda size, by=each: figures(size * by)) for each in sizes]
    monkeypatch.setattr(program, "BENCHMARKS", fakes)
    monkeypatch.chdir(tmp_path)

    program.main(10)

    found = json.loads((tmp_path / "build" / "bench.json").read_text())
    assert [figure["name"] for figure in found] == ["of 10", "of 20", "of 30"]
    assert capsys.readouterr().out.count("\n") == len(found) + 1
