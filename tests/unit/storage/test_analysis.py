"""A record set before a log takes it: what its headers say, and what of it is refused or cut."""

import pytest

from cordwood.core.errors import (
    BadRecordsError,
    CorruptMessageError,
    InvalidRecordError,
    MessageTooLargeError,
)
from cordwood.records.builder import BatchFields
from cordwood.records.compression import Codec
from cordwood.records.message import LOG_OVERHEAD
from cordwood.storage.analysis import analyze
from cordwood.storage.origin import Origin
from tests.unit.storage.produced import EPOCH, NOW, analyzed, old, patched, v2


def led(base_offset: int, epoch: int, *, time: int = NOW) -> bytes:
    """Return a batch of two records as a leader of that epoch has written it."""
    fields = BatchFields(base_offset=base_offset, partition_leader_epoch=epoch)
    return v2(fields=fields, times=(time, time))


def test_analysis_tells_what_a_batch_says() -> None:
    data = v2(Codec.LZ4)

    info = analyzed(data)

    assert (info.size, info.source_codec, info.is_monotonic) == (len(data), Codec.LZ4, True)
    assert (info.first_offset, info.last_offset, info.last_leader_epoch) == (0, 2, -1)
    assert (info.max_timestamp, info.offset_of_max_timestamp) == (NOW + 1, 2)


def test_analysis_tells_what_several_batches_say() -> None:
    data = led(10, 3, time=NOW) + led(12, 4, time=NOW + 5) + led(20, 5, time=NOW + 5)

    info = analyzed(data, Origin.REPLICATION)

    assert [header.base_offset for header in info.headers] == [10, 12, 20]
    assert (info.first_offset, info.last_offset, info.last_leader_epoch) == (10, 21, 5)
    assert (info.max_timestamp, info.offset_of_max_timestamp) == (NOW + 5, 13)


def test_analysis_takes_a_wrapper_by_its_last_offset() -> None:
    info = analyzed(old(1, Codec.GZIP))

    assert (info.first_offset, info.last_offset, info.source_codec) == (2, 2, Codec.GZIP)


def test_analysis_has_the_codec_of_the_last_batch_that_is_compressed() -> None:
    data = old(1, Codec.GZIP) + old(1, Codec.SNAPPY) + old(1)

    assert analyzed(data).source_codec is Codec.SNAPPY


@pytest.mark.parametrize("tail", (b"", b"\0", v2()[:16], v2()[:60], v2()[:-1]))
def test_analysis_leaves_out_what_is_no_whole_batch(tail: bytes) -> None:
    data = old(1, times=(NOW,))

    info = analyzed(data + tail)

    assert (info.size, len(info.headers)) == (len(data), 1)


def test_analysis_of_nothing_says_nothing() -> None:
    info = analyzed(b"")

    assert (info.size, info.headers, info.is_monotonic) == (0, (), True)
    assert (info.first_offset, info.last_offset, info.last_leader_epoch) == (-1, -1, -1)
    assert (info.max_timestamp, info.offset_of_max_timestamp) == (-1, -1)


@pytest.mark.parametrize("second", (10, 9, 5))
def test_analysis_sees_offsets_that_do_not_go_on(second: int) -> None:
    info = analyzed(led(9, 0) + led(second - 1, 0), Origin.REPLICATION)

    assert not info.is_monotonic


def test_analysis_ends_a_followers_set_at_a_leader_that_it_does_not_know() -> None:
    known = led(0, EPOCH)

    info = analyzed(known + led(2, EPOCH + 1) + led(4, EPOCH), Origin.REPLICATION)

    assert (info.size, info.last_offset) == (len(known), 1)


def test_analysis_refuses_a_quorum_batch_of_another_epoch() -> None:
    with pytest.raises(InvalidRecordError, match="not the present one"):
        analyzed(led(0, EPOCH - 1), Origin.RAFT_LEADER)


def test_analysis_takes_a_quorum_batch_of_the_present_epoch() -> None:
    assert analyzed(led(30, EPOCH), Origin.RAFT_LEADER).first_offset == 30


def test_analysis_refuses_offsets_from_a_producer() -> None:
    with pytest.raises(InvalidRecordError, match="a base offset from a producer"):
        analyzed(led(1, -1))


@pytest.mark.parametrize("origin", (Origin.COORDINATOR, Origin.REPLICATION))
def test_analysis_takes_offsets_from_brokers(origin: Origin) -> None:
    assert analyzed(led(1, -1), origin).first_offset == 1


def test_analysis_takes_old_messages_with_offsets_from_a_producer() -> None:
    assert analyzed(old(1, times=(NOW,), offsets=(5,))).first_offset == 5


def test_analysis_refuses_a_batch_larger_than_allowed() -> None:
    data = v2()

    with pytest.raises(MessageTooLargeError, match=rf"of {len(data)} bytes at position 0"):
        analyze(data, Origin.CLIENT, max_message_bytes=len(data) - 1, leader_epoch=0)


def test_analysis_takes_a_batch_as_large_as_allowed() -> None:
    data = v2()

    assert analyze(data, Origin.CLIENT, max_message_bytes=len(data), leader_epoch=0).headers


def test_analysis_looks_at_the_size_before_the_checksum() -> None:
    data = v2()[:-1] + b"?"

    with pytest.raises(MessageTooLargeError):
        analyze(data, Origin.CLIENT, max_message_bytes=1, leader_epoch=0)


def test_analysis_lets_a_follower_take_what_its_leader_took() -> None:
    info = analyze(v2(), Origin.REPLICATION, max_message_bytes=1, leader_epoch=0)

    assert len(info.headers) == 1


@pytest.mark.parametrize("data", (v2(), old(0), old(1), old(1, Codec.GZIP)))
def test_analysis_refuses_a_wrong_checksum(data: bytes) -> None:
    broken = data[:-1] + bytes([data[-1] ^ 1])

    with pytest.raises(CorruptMessageError, match="checksum is wrong"):
        analyzed(broken)


def test_analysis_refuses_an_unknown_codec() -> None:
    with pytest.raises(CorruptMessageError, match="unknown codec"):
        analyzed(patched(v2(), 21, b"\0\7"))


@pytest.mark.parametrize(("at", "field"), ((16, b"\3"), (8, b"\0\0\0\1")), ids=("magic", "size"))
def test_analysis_refuses_what_no_batch_begins_with(at: int, field: bytes) -> None:
    data = bytearray(v2())
    data[at : at + len(field)] = field

    with pytest.raises(BadRecordsError):
        analyzed(data)


def test_analysis_says_where_a_later_batch_is_wrong() -> None:
    first = led(0, 0)
    second = bytearray(led(2, 0))
    second[LOG_OVERHEAD + 20] ^= 1

    with pytest.raises(CorruptMessageError) as caught:
        analyzed(first + second, Origin.REPLICATION)

    assert (caught.value.position, caught.value.base_offset) == (len(first), 2)
