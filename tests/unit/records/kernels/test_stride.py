"""How far a stride goes, who is heard on the way, and what goes into the indexes."""

import pytest

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.kernels import stride
from cordwood.records.kernels.stride import ROWS, SLOTS, KernelStrider
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.stride import Footing, Stride, StrideEntry

FOOTING = Footing(0, INT32_MAX, 1 << 20, 0, -1, 0)
NOBODY = BatchFields(partition_leader_epoch=0)
PRODUCER = NOBODY._replace(producer_id=7, producer_epoch=0, base_sequence=0)


def batch(at: int, fields: BatchFields = NOBODY, *, count: int = 1, timestamp: int = 5) -> bytes:
    builder = BatchBuilder(fields._replace(base_offset=at))
    for _ in range(count):
        builder.append(b"key", b"value", timestamp=timestamp)
    return bytes(builder.build())


SIZE = len(batch(0))


def strides(*batches: bytes, footing: Footing = FOOTING) -> Stride:
    return KernelStrider().stride(b"".join(batches), footing)


def test_stride_goes_over_all_runs_of_ordinary_batches() -> None:
    codecs = (Codec.NONE, Codec.NONE, Codec.GZIP, Codec.NONE)
    runs = [batch(at, NOBODY._replace(codec=codec)) for at, codec in enumerate(codecs)]
    more = [batch(at) for at in range(4, 2 * ROWS)]

    found = strides(*runs, *more)

    assert (found.batches, found.footing.next_offset) == (2 * ROWS, 2 * ROWS)
    assert found.end == sum(map(len, (*runs, *more)))
    assert found.heard == [0]


@pytest.mark.parametrize(
    "other",
    (
        batch(1, PRODUCER._replace(is_transactional=True)),
        batch(1, PRODUCER._replace(is_control=True)),
        batch(0),
        batch(INT32_MAX + 1),
        batch(INT32_MAX, count=2),
        batch(1)[:-1] + b"\xff",
        batch(1)[20:],
        bytes(SIZE),
    ),
    ids=("transaction", "control", "offset", "far", "far_end", "bit", "torn", "zeros"),
)
def test_stride_ends_before_what_is_not_ordinary(other: bytes) -> None:
    found = strides(batch(0), other, batch(2))

    assert (found.end, found.batches) == (SIZE, 1)


@pytest.mark.parametrize("left", (0, 1, 16, 17, 60, SIZE - 1))
def test_stride_ends_where_the_bytes_do(left: int) -> None:
    found = strides(batch(0), batch(1), batch(2)[:left])

    assert (found.end, found.batches) == (2 * SIZE, 2)


def test_stride_ends_before_an_old_message() -> None:
    old = LegacyBuilder(1, base_offset=1)
    old.append(b"key", b"value", timestamp=5)

    assert strides(batch(0), bytes(old.build())).end == SIZE


def test_stride_ends_before_an_offset_that_nothing_can_follow() -> None:
    footing = FOOTING._replace(next_offset=INT64_MAX - 1, highest_offset=INT64_MAX + 5)

    found = strides(batch(INT64_MAX - 1), batch(INT64_MAX), footing=footing)

    assert (found.batches, found.footing.next_offset) == (1, INT64_MAX)


def test_stride_hears_of_the_first_of_a_later_epoch() -> None:
    epochs = (3, 3, 2, 4, 4)
    batches = (batch(at, BatchFields(0, epoch)) for at, epoch in enumerate(epochs))

    assert strides(*batches).heard == [0, 3 * SIZE]


def test_stride_hears_of_a_producers_first_and_last_five() -> None:
    batches = (batch(at, PRODUCER) for at in range(9))

    assert strides(*batches).heard == [at * SIZE for at in (0, 4, 5, 6, 7, 8)]


def test_stride_hears_of_producers_that_share_a_slot() -> None:
    other = PRODUCER._replace(producer_id=7 + SLOTS)
    owners = (PRODUCER,) * 8 + (other,) * 2 + (PRODUCER,)

    found = strides(*(batch(at, owner) for at, owner in enumerate(owners)))

    assert found.heard == [at * SIZE for at in (0, 3, 4, 5, 6, 7, 8, 9, 10)]


def test_stride_hears_of_each_epoch_of_a_producer() -> None:
    epochs = (0,) * 7 + (1,) * 7
    batches = (batch(at, PRODUCER._replace(producer_epoch=e)) for at, e in enumerate(epochs))

    found = strides(*batches)

    assert found.heard == [at * SIZE for at in (0, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13)]


def test_stride_tells_what_goes_into_the_indexes() -> None:
    footing = FOOTING._replace(interval_bytes=SIZE, bytes_since_entry=SIZE)
    times = (5, 9, 7, 7)

    found = strides(*(batch(at, timestamp=t) for at, t in enumerate(times)), footing=footing)

    assert found.entries == [StrideEntry(1, SIZE, 9, 1), StrideEntry(3, 3 * SIZE, 9, 1)]
    assert found.footing == footing._replace(
        next_offset=4, bytes_since_entry=SIZE, latest_timestamp=9, latest_offset=1
    )


def test_stride_ends_where_too_much_is_to_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stride, "MOST_TOLD", 10)
    producers = (PRODUCER._replace(producer_id=number) for number in range(20))

    found = strides(*(batch(at, producer) for at, producer in enumerate(producers)))

    assert found.heard == [at * SIZE for at in range(found.batches)]
    assert 0 < found.batches < 10


def test_strider_begins_afresh_with_each_stride() -> None:
    strider = KernelStrider()
    data = batch(0, PRODUCER) + batch(1, PRODUCER)

    assert strider.stride(data, FOOTING) == strider.stride(data, FOOTING)
