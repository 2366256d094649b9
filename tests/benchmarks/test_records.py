"""The records benchmark runs, small, so that it cannot rot."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.micro.records import segment
from cordwood.records.batch_stream import batches


@pytest.mark.timeout(300)
def test_benchmarks_write_every_figure_when_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    main(1 << 20)

    found = json.loads((tmp_path / "build" / "bench.json").read_text())
    names = [figure["name"] for figure in found]
    assert len(set(names)) == len(names) >= 73
    assert all(figure["value"] > 0 for figure in found)
    assert capsys.readouterr().out.count("\n") == len(found) + 1


def test_segment_holds_batches_that_follow_each_other() -> None:
    small = segment(100, 50_000, batch_bytes=4096)

    found = list(batches(small.data))

    assert sum(batch.count for batch in found) == small.records
    assert all(batch.is_crc_valid() for batch in found)
    assert [batch.base_offset for batch in found[1:]] == [batch.next_offset for batch in found[:-1]]
