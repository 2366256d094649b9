"""Equality of records covers all of their fields."""

import pytest

from cordwood.records.record import Record, TimestampType


def test_record_equals_another_when_every_field_is_the_same() -> None:
    record = Record(3, 1000, TimestampType.CREATE_TIME, b"k", b"v", (("h", None),), 7)

    same = Record(3, 1000, TimestampType.CREATE_TIME, b"k", b"v", (("h", None),), 7)

    assert record == same
    assert record != Record(3, 1000, TimestampType.CREATE_TIME, b"k", b"v", (("h", None),), 8)


def test_record_has_slots_and_no_other_attributes() -> None:
    record = Record(0, -1, TimestampType.NO_TIMESTAMP, None, None)

    with pytest.raises(AttributeError):
        record.topic = "t"  # type: ignore[attr-defined] # the mistake that slots forbid
