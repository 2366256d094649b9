"""The rewriter with kernels writes the same bytes as the plain one."""

import pytest

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.plain_rewriter import PlainRewriter
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.kernels import kernel_rewriter
from cordwood.compaction.kernels.kernel_rewriter import KernelRewriter
from cordwood.core.errors import BadRecordsError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from tests.unit.compaction.compaction_samples import (
    HORIZON,
    NOW,
    batch,
    chunk,
    marker,
    marks,
    old,
    plan,
    sent,
    with_horizon,
)
from tests.unit.records.segments import changed

PLAIN = batch(0, "a1 b- c3 d4")
PACKED = batch(0, "a1 b- c3 d4", fields=BatchFields(codec=Codec.ZSTD))
STAMPED = batch(0, "a1 b- c3", fields=BatchFields(log_append_time_ms=NOW + 50))
CASES = {
    "nothing": (chunk(), ""),
    "copied": (chunk(PLAIN, PACKED), "oxoo" * 2),
    "filtered": (chunk(PLAIN, PACKED, PLAIN), "xxoo" + "oxxo" + "xxxx"),
    "given a horizon": (chunk(PLAIN, PACKED, STAMPED), "otoo" + "xtoo" + "xto"),
    "with a horizon": (chunk(with_horizon(PLAIN), with_horizon(PLAIN, NOW)), "otoo" * 2),
    "log append time": (chunk(STAMPED), "oxo"),
    "markers": (
        chunk(
            *[marker(0, is_commit=True)] * 2,
            retentions={0: BatchRetention.CONTROL, 1: BatchRetention.CONTROL | 4},
        ),
        "",
    ),
    "dropped, kept if empty": (
        chunk(sent(0, "a1"), PLAIN, retentions={0: BatchRetention.DELETE | 2}),
        "ooxoo",
    ),
    "packed, kept if empty": (
        chunk(PACKED, PLAIN, retentions={0: BatchRetention.RETAIN_EMPTY}),
        "xxxx" + "oooo",
    ),
    "old ones between": (
        chunk(PLAIN, old(4, "a1 b-", codec=Codec.GZIP), PACKED),
        "oooo" + "xt" + "oxxo",
    ),
    "attributes of later days": (chunk(changed(PLAIN, 21, b"\x01\x80")), "oxxo"),
}


@pytest.mark.parametrize(("data", "letters"), CASES.values(), ids=CASES.keys())
def test_rewriters_leave_the_same(data: SegmentChunk, letters: str) -> None:
    expected, found = PassCounts(stream=5), PassCounts(stream=5)
    wanted = PlainRewriter(plan()).rewrite(data, marks(letters), counts=expected)

    left = KernelRewriter(plan()).rewrite(data, marks(letters), counts=found)

    assert bytes(left) == bytes(wanted)
    assert found == expected


def test_output_buffer_grows_when_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_rewriter, "_FIRST_ROOM", 100)
    data = chunk(PLAIN, PACKED, PLAIN)
    expected = PlainRewriter(plan()).rewrite(data, marks("otoo" * 3), counts=PassCounts())

    left = KernelRewriter(plan()).rewrite(data, marks("otoo" * 3), counts=PassCounts())

    assert bytes(left) == bytes(expected)


def test_output_buffer_is_reused_by_the_next_chunk() -> None:
    rewriter = KernelRewriter(plan(now_ms=HORIZON))

    for data in (chunk(PLAIN, PACKED), chunk(PACKED)):
        letters = "oooo" * (2 if len(data.data) > len(PACKED) else 1)
        assert bytes(rewriter.rewrite(data, marks(letters), counts=PassCounts())) == data.data


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.LZ4))
def test_invalid_batch_is_rejected_at_its_position(codec: Codec) -> None:
    bad = changed(batch(0, "a1 b2", fields=BatchFields(codec=codec)), 57, b"\0\0\0\1")

    with pytest.raises(BadRecordsError) as refused:
        KernelRewriter(plan()).rewrite(chunk(PLAIN + bad), marks("ooooo"), counts=PassCounts())

    assert refused.value.position == len(PLAIN)
