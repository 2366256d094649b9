"""Error classes: their text and attributes, also after pickling."""

import pickle

import pytest

from cordwood.core.errors import (
    BadRecordsError,
    BytesError,
    CordwoodError,
    CorruptMessageError,
    DamagedFileError,
    KafkaError,
    ListenError,
    LogDirectoryError,
    SettingError,
)

ERRORS = [
    BytesError("a varint", position=7, expected="2 bytes", found=1),
    SettingError("setting x is unknown", key="x", remedy="did you mean y?"),
    KafkaError("no"),
    CorruptMessageError("wrong CRC", position=61, base_offset=0, expected=1, found=2),
    DamagedFileError("no version", path="/d/x", remedy="remove it", position=1, expected="0"),
    DamagedFileError("empty", path="/d/x", remedy="remove it"),
    LogDirectoryError("is locked", path="/d", remedy="stop the broker"),
    ListenError("1.2.3.4:5 is taken", key="listeners", remedy="choose another"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_error_keeps_type_text_and_attributes_when_pickled(error: CordwoodError) -> None:
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_bytes_error_names_place_and_both_sides() -> None:
    assert str(ERRORS[0]) == "a varint at position 7: expected 2 bytes, found 1"


def test_setting_error_names_the_remedy() -> None:
    assert str(ERRORS[1]) == "setting x is unknown; did you mean y?"


def test_bad_records_error_has_the_known_facts() -> None:
    text = "wrong CRC (position 61, base offset 0, expected 1, found 2)"

    assert str(ERRORS[3]) == text
    assert str(BadRecordsError("torn", position=3)) == "torn (position 3)"
    assert str(BadRecordsError("torn")) == "torn"


def test_file_errors_name_the_path_and_the_remedy() -> None:
    assert [str(error) for error in ERRORS[4:7]] == [
        "/d/x: no version (position 1, expected 0); remove it",
        "/d/x: empty; remove it",
        "/d: is locked; stop the broker",
    ]


def test_listen_error_names_the_remedy() -> None:
    assert str(ERRORS[7]) == "1.2.3.4:5 is taken; choose another"
