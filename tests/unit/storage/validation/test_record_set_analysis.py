"""Record sets are summarized, checked and shortened before an append."""

import pytest

from cordwood.core.errors import (
    BadRecordsError,
    CorruptMessageError,
    InvalidRecordError,
    MessageTooLargeError,
)
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.validation.record_set_analysis import analyze, ensure_leader_epoch
from tests.unit.storage.produced import EPOCH, NOW, analyzed, old, patched, v2


def led(base_offset: int, epoch: int, *, time: int = NOW) -> bytes:
    """Return a batch of two records from a leader of that epoch."""
    fields = BatchFields(base_offset=base_offset, partition_leader_epoch=epoch)
    return v2(fields=fields, times=(time, time))


def test_analysis_summarizes_a_batch() -> None:
    data = v2(Codec.LZ4)

    info = analyzed(data)

    assert info.size == len(data)
    assert info.source_codec == Codec.LZ4
    assert info.is_monotonic
    assert info.first_offset == 0
    assert info.last_offset == 2
    assert info.max_timestamp == NOW + 1
    assert info.offset_of_max_timestamp == 2


def test_analysis_summarizes_several_batches() -> None:
    data = led(10, 3, time=NOW) + led(12, 4, time=NOW + 5) + led(20, 5, time=NOW + 5)

    info = analyzed(data, AppendOrigin.REPLICATION)

    assert [header.base_offset for header in info.headers] == [10, 12, 20]
    assert info.first_offset == 10
    assert info.last_offset == 21
    assert info.max_timestamp == NOW + 5
    assert info.offset_of_max_timestamp == 13


def test_analysis_has_the_last_offset_of_a_wrapper() -> None:
    info = analyzed(old(1, Codec.GZIP))

    assert info.first_offset == 2
    assert info.last_offset == 2
    assert info.source_codec == Codec.GZIP


def test_analysis_has_the_codec_of_the_last_batch_that_is_compressed() -> None:
    data = old(1, Codec.GZIP) + old(1, Codec.SNAPPY) + old(1)

    assert analyzed(data).source_codec is Codec.SNAPPY


@pytest.mark.parametrize("tail", (b"", b"\0", v2()[:16], v2()[:60], v2()[:-1]))
def test_analysis_leaves_out_an_incomplete_batch(tail: bytes) -> None:
    data = old(1, times=(NOW,))

    info = analyzed(data + tail)

    assert info.size == len(data)
    assert len(info.headers) == 1


def test_analysis_of_an_empty_set_is_empty() -> None:
    info = analyzed(b"")

    assert info.size == 0
    assert info.headers == ()
    assert info.is_monotonic
    assert info.first_offset == -1
    assert info.last_offset == -1
    assert info.max_timestamp == -1
    assert info.offset_of_max_timestamp == -1


@pytest.mark.parametrize("second", (10, 9, 5))
def test_analysis_reports_offsets_that_do_not_increase(second: int) -> None:
    info = analyzed(led(9, 0) + led(second - 1, 0), AppendOrigin.REPLICATION)

    assert not info.is_monotonic


def test_analysis_ends_a_followers_set_at_an_unknown_leader_epoch() -> None:
    known = led(0, EPOCH)

    info = analyzed(known + led(2, EPOCH + 1) + led(4, EPOCH), AppendOrigin.REPLICATION)

    assert info.size == len(known)
    assert info.last_offset == 1


def test_quorum_batch_of_another_epoch_is_rejected() -> None:
    (header,) = analyzed(led(0, EPOCH - 1), AppendOrigin.RAFT_LEADER).headers

    with pytest.raises(InvalidRecordError, match="not the current one"):
        ensure_leader_epoch(header, EPOCH)


def test_quorum_batch_of_the_current_epoch_is_accepted() -> None:
    (header,) = analyzed(led(30, EPOCH), AppendOrigin.RAFT_LEADER).headers

    ensure_leader_epoch(header, EPOCH)

    assert header.base_offset == 30


def test_analysis_rejects_offsets_from_a_producer() -> None:
    with pytest.raises(InvalidRecordError, match="base offset of a producer's batch is not 0"):
        analyzed(led(1, -1))


@pytest.mark.parametrize("origin", (AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION))
def test_analysis_accepts_offsets_from_brokers(origin: AppendOrigin) -> None:
    assert analyzed(led(1, -1), origin).first_offset == 1


def test_analysis_accepts_old_messages_with_offsets_from_a_producer() -> None:
    assert analyzed(old(1, times=(NOW,), offsets=(5,))).first_offset == 5


def test_analysis_rejects_a_batch_larger_than_allowed() -> None:
    data = v2()

    with pytest.raises(MessageTooLargeError, match=rf"at position 0 has {len(data)} bytes"):
        analyze(data, AppendOrigin.CLIENT, max_message_bytes=len(data) - 1, leader_epoch=0)


def test_analysis_accepts_a_batch_as_large_as_allowed() -> None:
    data = v2()

    assert analyze(data, AppendOrigin.CLIENT, max_message_bytes=len(data), leader_epoch=0).headers


def test_analysis_checks_the_size_before_the_checksum() -> None:
    data = v2()[:-1] + b"?"

    with pytest.raises(MessageTooLargeError):
        analyze(data, AppendOrigin.CLIENT, max_message_bytes=1, leader_epoch=0)


def test_analysis_does_not_check_the_size_on_a_follower() -> None:
    info = analyze(v2(), AppendOrigin.REPLICATION, max_message_bytes=1, leader_epoch=0)

    assert len(info.headers) == 1


@pytest.mark.parametrize("data", (v2(), old(0), old(1), old(1, Codec.GZIP)))
def test_analysis_rejects_a_wrong_checksum(data: bytes) -> None:
    broken = data[:-1] + bytes([data[-1] ^ 1])

    with pytest.raises(CorruptMessageError, match="checksum is wrong"):
        analyzed(broken)


def test_analysis_rejects_an_unknown_codec() -> None:
    with pytest.raises(CorruptMessageError, match="unknown codec"):
        analyzed(patched(v2(), 21, b"\0\7"))


@pytest.mark.parametrize(("at", "field"), ((16, b"\3"), (8, b"\0\0\0\1")), ids=("magic", "size"))
def test_analysis_rejects_bytes_that_cannot_begin_a_batch(at: int, field: bytes) -> None:
    data = bytearray(v2())
    data[at : at + len(field)] = field

    with pytest.raises(BadRecordsError):
        analyzed(data)


def test_analysis_names_the_position_of_a_wrong_later_batch() -> None:
    first = led(0, 0)
    second = bytearray(led(2, 0))
    second[LOG_OVERHEAD + 20] ^= 1

    with pytest.raises(CorruptMessageError) as caught:
        analyzed(first + second, AppendOrigin.REPLICATION)

    assert caught.value.position == len(first)
    assert caught.value.base_offset == 2
