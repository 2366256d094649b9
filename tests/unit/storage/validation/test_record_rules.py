"""The records that break a topic's rules are rejected by name."""

import pickle

import pytest

from cordwood.core.errors import InvalidRecordError, InvalidTimestampError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.batch_header import read_header
from cordwood.records.batch_stream import batch_at
from cordwood.records.compression import Codec
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.log_config import LogConfig
from cordwood.storage.validation.record_rules import RecordError, RecordRules, RejectedRecordsError
from tests.unit.storage.produced import NOW, STAMPING, old, patched, v2, wrapped

BOUNDED = LogConfig(message_timestamp_before_max_ms=100, message_timestamp_after_max_ms=10)
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))
STAMPED = BatchFields(log_append_time_ms=NOW)


def check(data: bytes, config: LogConfig) -> None:
    batch, header = batch_at(data, 0), read_header(data)
    assert batch is not None
    assert header is not None
    RecordRules(config, NOW).ensure_valid(batch, header, facts=PlainInspector().inspect(batch))


def error_of(data: bytes, config: LogConfig) -> tuple[RejectedRecordsError, list[int]]:
    """Return the error and the indexes in it."""
    with pytest.raises(RejectedRecordsError) as caught:
        check(data, config)
    return caught.value, [error.batch_index for error in caught.value.record_errors]


@pytest.mark.parametrize("time", (NOW - 101, NOW + 11))
def test_timestamp_is_rejected_beyond_the_bounds(time: int) -> None:
    error, indexes = error_of(v2(times=(NOW, time, NOW)), BOUNDED)

    assert isinstance(error, InvalidTimestampError)
    assert error.code == 32
    assert indexes == [1]
    assert f"timestamp {time} is not between {NOW - 100} and {NOW + 10}" in str(error)


@pytest.mark.parametrize("distance", (-300_000, 300_000))
@pytest.mark.parametrize("data", (v2, lambda times: old(1, Codec.GZIP, times=times)))
def test_every_record_is_named_when_all_are_too_far_away(data: object, distance: int) -> None:
    assert callable(data)

    _, indexes = error_of(data(times=(NOW + distance,) * 3), BOUNDED)

    assert indexes == [0, 1, 2]


@pytest.mark.parametrize("data", (v2(fields=STAMPED), patched(old(1, times=(NOW,)), 17, b"\x08")))
def test_log_append_time_is_rejected_when_the_log_sets_it_itself(data: bytes) -> None:
    error, indexes = error_of(data, STAMPING)

    assert error.code == 32
    assert indexes == list(range(len(indexes)))
    assert "a producer set LogAppendTime" in str(error)


def test_log_append_time_is_checked_like_a_timestamp_when_producers_set_it() -> None:
    check(v2(fields=STAMPED), BOUNDED)


@pytest.mark.parametrize("stamp", (NOW - 101, NOW + 11, -1))
def test_log_append_time_is_rejected_when_it_is_out_of_bounds_or_none(stamp: int) -> None:
    error, indexes = error_of(v2(fields=STAMPED._replace(log_append_time_ms=stamp)), BOUNDED)

    assert error.code == 32
    assert indexes == [0, 1, 2]


def test_log_append_time_before_the_epoch_is_accepted_without_a_bound() -> None:
    check(v2(fields=STAMPED._replace(log_append_time_ms=-9)), LogConfig())


def test_record_without_a_key_is_rejected_by_a_compacted_topic() -> None:
    data = patched(v2(times=(NOW, NOW), key=None), 61 + 4, b"\1")

    error, indexes = error_of(data, COMPACTED)

    assert isinstance(error, InvalidRecordError)
    assert error.code == 87
    assert indexes == [0, 1]


def test_record_with_a_key_is_accepted_by_a_compacted_topic() -> None:
    check(v2(), COMPACTED)


def test_record_without_a_key_is_accepted_by_any_other_topic() -> None:
    check(v2(key=None), LogConfig())


@pytest.mark.parametrize(("outer", "inner"), ((0, 1), (1, 0)))
def test_message_of_another_magic_than_its_wrapper_is_rejected(outer: int, inner: int) -> None:
    error, indexes = error_of(wrapped(outer, old(inner)), LogConfig())  # type: ignore[arg-type]  # literals

    assert error.code == 87
    assert indexes == [0, 1, 2]


def test_error_is_an_invalid_timestamp_when_one_timestamp_is_wrong() -> None:
    inner = old(0, times=(NOW,) * 5) + old(1, times=(NOW + 11,), offsets=(5,))

    error, indexes = error_of(wrapped(1, inner), BOUNDED)

    assert isinstance(error, InvalidTimestampError)
    assert indexes == [0, 1, 2, 3, 4, 5]


def test_error_shows_three_records_and_keeps_all() -> None:
    error, indexes = error_of(v2(times=(NOW + 11,) * 4), BOUNDED)

    assert str(error).startswith("4 records are invalid: record 0: ")
    assert str(error).endswith("; ...")
    assert "record 3" not in str(error)
    assert len(indexes) == 4


def test_error_survives_pickling() -> None:
    error, _ = error_of(v2(key=None, times=(NOW,)), COMPACTED)

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.record_errors == (RecordError(0, "a compacted topic needs a key in every record"),)
