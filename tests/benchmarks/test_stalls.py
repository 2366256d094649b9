"""The benchmark of stalls runs, small, so that it cannot rot."""

from array import array
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.macro.stalls import ALL, PARTS, RESTART, SMALL, measure
from benchmarks.stalls.latency_file import Latencies, LatencyWriter, is_written_to, latencies


@pytest.mark.parametrize("part", ("idle", RESTART, ALL))
def test_figures_are_measured_when_small(part: str) -> None:
    measured = [*measure(replace(SMALL, seconds=1, partitions=3, fsync_ms=5), [part])]

    assert len({figure.name for figure in measured}) == len(measured) == 15
    assert all(figure.name.startswith(f"stalls, {part}, ") for figure in measured)
    assert part in PARTS


def test_latencies_are_those_that_were_due_between_two_times(tmp_path: Path) -> None:
    path = tmp_path / "latencies"
    writer = LatencyWriter(str(path))
    for due in range(2_000):
        writer.add(due, due)
    writer.close()

    found = latencies(path, 1_000, 2_000)

    assert found == Latencies(1_500, 1_990, 1_999, 1_999)
    assert (is_written_to(path, 1_999), is_written_to(path, 2_000)) == (True, False)


def test_latencies_of_a_time_without_events_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "latencies"
    path.write_bytes(array("d", (1, 1)).tobytes())

    with pytest.raises(ValueError, match="no event between 2 and 3"):
        latencies(path, 2, 3)
