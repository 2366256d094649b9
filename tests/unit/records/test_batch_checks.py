"""Passes over runs of batches by the plain checker: results, ends and faults."""

import pytest

from cordwood.core.errors import CorruptMessageError, InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.batch_checks import (
    BatchSurvey,
    CheckedBatch,
    CheckedBatches,
    PlainBatchChecker,
)
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, control_batch
from tests.unit.records.segments import broken, changed, legacy

PLAIN = PlainBatchChecker()


def keyed(base_offset: int = 0, *, codec: Codec = Codec.NONE, producer_id: int = -1) -> bytes:
    """Return two records: one with a key and a header, one with neither key nor value."""
    fields = BatchFields(base_offset=base_offset, codec=codec, producer_id=producer_id)
    if producer_id >= 0:
        fields = fields._replace(producer_epoch=0, base_sequence=0)
    builder = BatchBuilder(fields)
    builder.append(b"key", b"value", timestamp=1000, headers=[("h", b"x")])
    builder.append(None, None, timestamp=2000)
    return bytes(builder.build())


def marker(base_offset: int) -> bytes:
    fields = BatchFields(base_offset=base_offset, producer_id=7, producer_epoch=0)
    end = EndTransaction(is_commit=True, coordinator_epoch=0)
    return bytes(control_batch(end, fields, timestamp=3000))


def test_check_returns_each_batch() -> None:
    data = keyed(0) + keyed(2, codec=Codec.LZ4) + marker(4)

    swept = PLAIN.check(data)

    assert (swept.end, swept.fault, swept.needed) == (len(data), None, 0)
    assert [(each.base_offset, each.last_offset, each.keyless) for each in swept.batches] == [
        (0, 1, 1),
        (2, 3, 1),
        (4, 4, 0),
    ]


def test_check_returns_the_largest_timestamp_of_the_records() -> None:
    empty = empty_batch(
        BatchFields(producer_id=7, producer_epoch=0), last_offset=0, max_timestamp=5
    )
    data = changed(keyed(), 35, (1).to_bytes(8)) + marker(2) + bytes(empty) + legacy(1, b"a")

    found = [(each.max_timestamp, each.records_max_timestamp) for each in PLAIN.check(data).batches]

    assert found[:3] == [(1, 2000), (3000, 3000), (5, 5)]
    assert found[3][0] == found[3][1]


def test_check_returns_the_first_offset_of_a_wrapper() -> None:
    data = legacy(1, b"a", b"b", b"c", base_offset=5, codec=Codec.GZIP)

    (batch,) = PLAIN.check(data).batches

    assert (batch.magic, batch.base_offset, batch.last_offset, batch.record_count) == (1, 5, 7, 3)


def test_check_of_an_empty_buffer_is_empty() -> None:
    assert PLAIN.check(b"") == CheckedBatches(0, [[] for _ in CheckedBatch._fields])


def test_check_returns_the_size_of_an_incomplete_batch() -> None:
    data = keyed(0)

    assert PLAIN.check(data + data[:30])[::3] == (len(data), len(data))
    assert PLAIN.check(data[:10])[::3] == (0, 0)


@pytest.mark.parametrize(
    ("damaged", "error"),
    (
        (broken(keyed(2)), CorruptMessageError),
        (keyed(2)[:16] + b"\x05" + keyed(2)[17:], CorruptMessageError),
        (bytes(40), CorruptMessageError),
        (broken(legacy(1, b"a")), CorruptMessageError),
    ),
)
def test_check_stops_before_damage(damaged: bytes, error: type[Exception]) -> None:
    swept = PLAIN.check(keyed(0) + damaged + keyed(4))

    assert swept.end == len(keyed(0))
    assert isinstance(swept.fault, error)


def test_check_finds_invalid_records_under_a_correct_checksum() -> None:
    data = changed(keyed(0), 57, (3).to_bytes(4))

    assert isinstance(PLAIN.check(data).fault, InvalidRecordError)


def test_survey_adds_headers_up() -> None:
    survey = BatchSurvey()

    PLAIN.survey(keyed(0) + keyed(2, codec=Codec.LZ4) + marker(4) + legacy(1, b"a"), survey)

    assert (survey.batches[:4], survey.records[:4]) == ([3, 0, 0, 1], [4, 0, 0, 2])
    assert survey.magics == [0, 1, 3]
    assert (survey.control, survey.transactional, survey.wrappers) == (1, 1, 0)
    assert (survey.latest, survey.keyless) == (3000, 0)


def test_survey_counts_inner_messages_only_when_deep() -> None:
    data = legacy(1, b"a", b"b", codec=Codec.GZIP)
    flat, deep = BatchSurvey(), BatchSurvey()

    PLAIN.survey(data, flat)
    PLAIN.survey(data, deep, is_deep=True)

    assert (flat.wrappers, flat.records[1], deep.records[1]) == (1, 0, 2)
    assert deep.unpacked_bytes == 2 * (34 + 1) + deep.key_bytes


def test_survey_returns_batches_that_are_not_summed() -> None:
    data = keyed(0) + keyed(2) + keyed(4, producer_id=5) + keyed(6, producer_id=5) + marker(8)
    survey = BatchSurvey(large=1000)

    told = PLAIN.survey(data, survey).batches

    assert [each.base_offset for each in told] == [4, 8]
    assert [each.base_offset for each in PLAIN.survey(data, BatchSurvey(large=1)).batches][:2] == [
        0,
        2,
    ]


def test_deep_survey_adds_records_up() -> None:
    survey = BatchSurvey()

    PLAIN.survey(keyed(0) + keyed(2, codec=Codec.GZIP) + marker(4), survey, is_deep=True)

    assert (survey.keyless, survey.tombstones, survey.headers) == (2, 2, 2)
    assert (survey.key_bytes, survey.value_bytes) == (6, 10)
    assert survey.unpacked_bytes == 2 * len(keyed(0)) + len(marker(4))
