"""The topic id of a partition directory is written, read and compared."""

import pytest

from cordwood.core.errors import DamagedFileError, InconsistentTopicIdError
from cordwood.core.uuids import Uuid, parse_uuid
from cordwood.storage.checkpoints.partition_metadata_file import (
    PARTITION_METADATA,
    ensure_same_topic,
    format_partition_metadata,
    parse_partition_metadata,
    read_partition_metadata,
    write_partition_metadata,
)
from cordwood.testing.memory_files import MemoryFiles

TEXT = "3Adc4FjfTeypRWROmQDNIQ"
TOPIC_ID = parse_uuid(TEXT)


def test_topic_id_is_the_second_of_two_lines() -> None:
    data = format_partition_metadata(TOPIC_ID)

    assert data == b"version: 0\ntopic_id: 3Adc4FjfTeypRWROmQDNIQ"
    assert parse_partition_metadata(data, path="/x") == TOPIC_ID


@pytest.mark.parametrize(
    "form", ("version: 1\r\ntopic_id:\t{}\r\nmore: 1\n", "version:  0\rtopic_id: {}\n")
)
def test_topic_id_is_read_when_the_text_is_a_later_version_or_has_other_line_ends(
    form: str,
) -> None:
    assert parse_partition_metadata(form.format(TEXT).encode(), path="/x") == TOPIC_ID


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    (
        ("", 1, "version: 0"),
        ("version:0", 1, "version: 0"),
        ("version: -1\ntopic_id: 3Adc4FjfTeypRWROmQDNIQ", 1, "version: 0"),
        ("version: x\ntopic_id: 3Adc4FjfTeypRWROmQDNIQ", 1, "version: 0"),
        ("version: 0", 2, "topic_id: <id>"),
        ("version: 0\ntopic_id 3Adc4FjfTeypRWROmQDNIQ", 2, "topic_id: <id>"),
        ("version: 0\ntopic_id: 3Adc", 2, "22 characters of A-Z, a-z, 0-9, - and _"),
        ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", 2, "the id of a topic"),
    ),
)
def test_damaged_file_is_rejected_with_its_line(text: str, line: int, expected: str) -> None:
    with pytest.raises(DamagedFileError, match="write it again with the topic id") as caught:
        parse_partition_metadata(text.encode(), path="/logs/t-0/x")

    assert caught.value.path == "/logs/t-0/x"
    assert caught.value.position == line
    assert caught.value.expected == expected


def test_file_survives_a_crash_when_it_has_been_written() -> None:
    files = MemoryFiles()
    files.make_directory("/t-0")
    files.sync_directory("/")

    before = read_partition_metadata(files, "/t-0")
    write_partition_metadata(files, "/t-0", topic_id=TOPIC_ID)
    files.crash()

    assert before is None
    assert read_partition_metadata(files, "/t-0") == TOPIC_ID
    assert files.list("/t-0") == [PARTITION_METADATA]


@pytest.mark.parametrize("found", (None, TOPIC_ID))
def test_directory_with_the_same_or_an_unknown_topic_id_is_accepted(
    found: Uuid | None,
) -> None:
    ensure_same_topic(found, TOPIC_ID, directory="/logs/t-0")


def test_directory_of_another_topic_is_rejected() -> None:
    with pytest.raises(InconsistentTopicIdError, match=f"expected AAAA.*, found {TEXT}"):
        ensure_same_topic(TOPIC_ID, Uuid(bytes(16)), directory="/logs/t-0")
