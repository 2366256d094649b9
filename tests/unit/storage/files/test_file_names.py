"""Names of segment files and partition directories are made and parsed."""

import pytest

from cordwood.core.errors import InvalidTopicError, LogDirectoryError
from cordwood.core.types import Offset, PartitionId, TopicName, TopicPartition
from cordwood.storage.files.file_names import (
    CLEANED,
    DELETED,
    INDEX,
    LOG,
    LONGEST_NAME,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TXN_INDEX,
    DirectoryName,
    DirectorySuffix,
    SegmentName,
    deleted_directory_name,
    directory_name,
    ensure_topic_name,
    future_directory_name,
    parse_directory_name,
    parse_segment_name,
    segment_name,
    stray_directory_name,
)

TOKEN = bytes(range(16))
UNIQUE = "00010203040546078809" + "0a0b0c0d0e0f"


def partition(topic: str, number: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


@pytest.mark.parametrize("extension", (LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT))
@pytest.mark.parametrize("suffix", ("", DELETED, CLEANED, SWAP))
def test_segment_name_is_parsed_into_its_parts(extension: str, suffix: str) -> None:
    name = segment_name(Offset(42), extension, suffix=suffix)

    assert name == f"00000000000000000042{extension}{suffix}"
    assert parse_segment_name(name) == SegmentName(Offset(42), extension, suffix)


def test_segment_name_fits_the_largest_offset() -> None:
    assert segment_name(Offset(2**63 - 1), LOG) == "09223372036854775807.log"


@pytest.mark.parametrize(
    "name",
    (
        "42.log",
        "00000000000000000042",
        "00000000000000000042.txt",
        "00000000000000000042.log.swap.deleted",
        "0000000000000000004x.log",
        "09223372036854775808.log",
        "00000000000000000042-0000000007.checkpoint",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ),
)
def test_segment_name_is_none_for_any_other_file(name: str) -> None:
    assert parse_segment_name(name) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    (
        ("orders-0", partition("orders")),
        ("a-b.c-d-12", partition("a-b.c-d", 12)),
        ("a--1", partition("a-", 1)),
        ("x-delete-0", partition("x-delete")),
        ("t-2147483647", partition("t", 2**31 - 1)),
    ),
)
def test_directory_name_is_split_at_its_last_dash(name: str, expected: TopicPartition) -> None:
    assert parse_directory_name(name, path=f"/logs/{name}") == DirectoryName(expected)
    assert directory_name(expected) == name


def test_directory_name_has_its_suffix() -> None:
    of = partition("a-b.c", 3)

    names = [
        made(of, TOKEN)
        for made in (deleted_directory_name, stray_directory_name, future_directory_name)
    ]

    assert names == [f"a-b.c-3.{UNIQUE}-{suffix}" for suffix in ("delete", "stray", "future")]
    assert [parse_directory_name(name, path="/x") for name in names] == [
        DirectoryName(of, DirectorySuffix.DELETE),
        DirectoryName(of, DirectorySuffix.STRAY),
        DirectoryName(of, DirectorySuffix.FUTURE),
    ]


@pytest.mark.parametrize("length", (249, 253))
def test_directory_name_is_shortened_when_the_topic_is_long(length: int) -> None:
    of = partition("x" * length)

    deleted = deleted_directory_name(of, TOKEN)

    assert len(deleted) == LONGEST_NAME
    assert len(stray_directory_name(of, TOKEN)) == LONGEST_NAME
    assert deleted.endswith(f"x-0.{UNIQUE}-delete")
    assert len(future_directory_name(of, TOKEN)) == length + len(f"-0.{UNIQUE}-future")


@pytest.mark.parametrize(
    ("name", "form"),
    (
        ("lost+found", "<topic>-<partition>"),
        ("-0", "<topic>-<partition>"),
        ("orders-", "<topic>-<partition>"),
        ("orders-x", "<topic>-<partition>"),
        ("orders-007", "<topic>-<partition>"),
        ("orders-2147483648", "<topic>-<partition>"),
        ("orders-0.abc", "<topic>-<partition>"),
        ("orders-0-delete", "<topic>-<partition>.<unique>-delete"),
        ("orders.abc-stray", "<topic>-<partition>.<unique>-stray"),
        ("orders-x.abc-future", "<topic>-<partition>"),
    ),
)
def test_directory_name_is_rejected_when_it_is_not_a_partition(name: str, form: str) -> None:
    with pytest.raises(LogDirectoryError) as caught:
        parse_directory_name(name, path=f"/logs/{name}")

    assert str(caught.value) == (
        f"/logs/{name}: '{name}' does not have the form {form}; "
        "a log directory contains only partitions: move this one away"
    )


@pytest.mark.parametrize("name", ("a", "A-z_0.9", "x" * 249, "..."))
def test_topic_name_is_returned_when_it_is_legal(name: str) -> None:
    assert ensure_topic_name(name) == name


@pytest.mark.parametrize(
    ("name", "problem"),
    (
        ("", "is empty"),
        (".", "is a special directory"),
        ("..", "is a special directory"),
        ("x" * 250, "it has 250 characters .at most 249."),
        ("a b", "invalid characters"),
        ("caf\xe9", "invalid characters"),
        ("a\n", "invalid characters"),
    ),
)
def test_topic_name_is_rejected_with_the_reason(name: str, problem: str) -> None:
    with pytest.raises(InvalidTopicError, match=problem):
        ensure_topic_name(name)
