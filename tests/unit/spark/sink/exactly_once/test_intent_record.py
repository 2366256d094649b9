"""The intent record keeps its bytes, and rejects the offsets of other programs."""

import base64
from random import Random
from uuid import UUID

import pytest

from cordwood.core.errors import InvalidRecordError, SparkError
from cordwood.spark.sink.exactly_once.intent_record import (
    METADATA_LIMIT,
    IntentRecord,
    SlotRecord,
    count_parts,
    join_record,
    parts_in,
    split_record,
)
from cordwood.spark.sink.exactly_once.sink_names import Incarnation
from tests.unit.spark.sink.exactly_once.scripted_brokers import NAMES, record_of, slot_of

#: Records of version 1, which every later version has to read.
GOLDEN = {
    "AQABeV8fNAACAAAAAAAAAAAAAAAAAAAABwBQBAA=": record_of(0),
    "AQABHf4FAwECAAAAAAAAAAAAAAAAAAAAB9gEUAQCAhZ6AAYAAAAAAAAAYwccBgAGAAAAAAAAAGM=": record_of(
        300, slot_of(1), slot_of(4, is_visible=True), is_withdrawn=True
    ),
}


def large(slots: int) -> IntentRecord:
    chance = Random(1)
    return IntentRecord(
        query_id=UUID(int=chance.getrandbits(128)),
        batch=1 << 40,
        incarnation=Incarnation(1 << 50, 32_000),
        transaction_version=1,
        slots=tuple(
            SlotRecord(
                slot,
                chance.randrange(1 << 20),
                chance.randrange(1 << 50),
                chance.randrange(32_767),
                chance.randrange(1 << 33),
                chance.getrandbits(64),
                chance.random() < 0.5,
            )
            for slot in range(slots)
        ),
    )


@pytest.mark.parametrize("slots", (0, 1, 60, 400))
def test_record_is_read_as_it_was_written(slots: int) -> None:
    record = large(slots)

    parts = split_record(record, partitions=8)

    assert join_record(dict(enumerate(parts))) == record
    assert max(map(len, parts)) <= METADATA_LIMIT


@pytest.mark.parametrize("text", GOLDEN)
def test_record_of_version_1_has_these_bytes(text: str) -> None:
    assert split_record(GOLDEN[text], partitions=1) == [text]
    assert join_record({0: text}) == GOLDEN[text]


@pytest.mark.parametrize(("slots", "parts"), ((0, 1), (60, 1), (400, 4)))
def test_parts_of_a_record_are_counted_before_and_after_they_are_written(
    slots: int, parts: int
) -> None:
    record = large(slots)

    written = split_record(record, partitions=8)

    assert count_parts(record) == parts_in(dict(enumerate(written))) == len(written) == parts


@pytest.mark.parametrize("metadata", ({}, {0: ""}, {0: "another program"}))
def test_offset_that_is_not_a_record_has_one_part(metadata: dict[int, str]) -> None:
    assert parts_in(metadata) == 1


def test_part_that_a_larger_record_has_left_is_ignored() -> None:
    old = split_record(large(400), partitions=8)

    new = split_record(record_of(3), partitions=8)

    assert join_record(dict(enumerate([*new, *old[1:]]))) == record_of(3)


def test_170_slots_of_an_ordinary_batch_fit_one_partition() -> None:
    slots = (
        SlotRecord(each, 5_000 + each, 9_000 + each, 40, 9_000, 1 << 63) for each in range(170)
    )

    assert len(split_record(record_of(9, *slots), partitions=1)) == 1


def test_record_that_does_not_fit_names_the_remedy() -> None:
    with pytest.raises(SparkError, match=r"coalesce\(\d+\).*recordTopic"):
        split_record(large(400), partitions=2)


@pytest.mark.parametrize("text", ("", "offset by another program", "AQABAAAAAA==", "Ag=="))
def test_offset_of_another_program_is_rejected(text: str) -> None:
    with pytest.raises(InvalidRecordError, match="not an intent record"):
        join_record({0: text})


def test_cut_part_is_rejected() -> None:
    (part,) = split_record(large(3), partitions=1)
    data = base64.b64decode(part)

    for size in range(len(data)):
        with pytest.raises(InvalidRecordError):
            join_record({0: base64.b64encode(data[:size]).decode()})


def test_missing_part_is_rejected() -> None:
    parts = split_record(large(400), partitions=8)

    with pytest.raises(InvalidRecordError):
        join_record({0: parts[0]})


def test_group_without_offsets_has_no_record() -> None:
    assert join_record({}) is None


def test_handles_are_those_of_slots_that_are_not_visible() -> None:
    record = record_of(4, slot_of(0, is_visible=True), slot_of(1))

    (handle,) = record.handles(NAMES)

    assert handle == ("s-40.2-11", 101, 0, 2)
    assert list(record.visible()) == [0]


def test_withdrawn_record_has_its_predecessor_done() -> None:
    assert record_of(4).done == 4
    assert record_of(4, is_withdrawn=True).done == 3
