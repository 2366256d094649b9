"""Checkpoint files are written and read as Kafka's are; errors name the damaged line."""

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    RECOVERY_POINTS,
    format_epoch_checkpoint,
    format_offset_checkpoint,
    parse_epoch_checkpoint,
    parse_offset_checkpoint,
    read_epoch_checkpoint,
    read_offset_checkpoint,
    write_epoch_checkpoint,
    write_offset_checkpoint,
)
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.testing.memory_files import MemoryFiles

OFFSETS = {
    TopicPartition(TopicName("orders"), PartitionId(0)): Offset(120),
    TopicPartition(TopicName("a-b.c_d"), PartitionId(12)): Offset(2**63 - 1),
}
EPOCHS = [
    EpochEntry(LeaderEpoch(0), Offset(0)),
    EpochEntry(LeaderEpoch(3), Offset(120)),
]


def test_offset_checkpoint_has_one_line_per_partition() -> None:
    text = format_offset_checkpoint(OFFSETS)

    assert text == b"0\n2\norders 0 120\na-b.c_d 12 9223372036854775807\n"
    assert parse_offset_checkpoint(text, path="/x") == OFFSETS


def test_epoch_checkpoint_has_one_line_per_epoch() -> None:
    text = format_epoch_checkpoint(EPOCHS)

    assert text == b"0\n2\n0 0\n3 120\n"
    assert parse_epoch_checkpoint(text, path="/x") == EPOCHS


@pytest.mark.parametrize("text", (b"", b"0", b"0\n", b"0\n0\n"))
def test_file_has_no_entries_when_it_ends_before_them(text: bytes) -> None:
    assert parse_offset_checkpoint(text, path="/x") == {}
    assert parse_epoch_checkpoint(text, path="/x") == []


@pytest.mark.parametrize(
    "text", (b"0\r\n1\r\nt 1 2\r\n", b"0\r1\rt 1 2", b"+0\n1\nt \t1  2 \n", b"0\n2\nt 1 9\nt 1 2\n")
)
def test_offsets_are_read_as_java_reads_lines_and_fields(text: bytes) -> None:
    offsets = parse_offset_checkpoint(text, path="/x")

    assert offsets == {TopicPartition(TopicName("t"), PartitionId(1)): 2}


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    (
        (b"\n", 1, "version 0"),
        (b"1\n0\n", 1, "version 0"),
        (b" 0\n0\n", 1, "version 0"),
        (b"0\nx\n", 2, "the number of entries"),
        (b"0\n-1\n", 2, "the number of entries"),
        (b"0\n2\nt 1 2\n", 2, "1, the number of entries"),
        (b"0\n0\nt 1 2\n", 2, "1, the number of entries"),
        (b"0\n1\nt 1\n", 3, "<topic> <partition> <offset>"),
        (b"0\n1\nt 1 2 3\n", 3, "<topic> <partition> <offset>"),
        (b"0\n1\n t 1\n", 3, "<topic> <partition> <offset>"),
        (b"0\n1\nt x 2\n", 3, "<topic> <partition> <offset>"),
        (b"0\n1\nt 1 9223372036854775808\n", 3, "<topic> <partition> <offset>"),
        (b"0\n1\nt 1 " + b"9" * 5000, 3, "<topic> <partition> <offset>"),
        (b"0\n2\nt 1 2\n\n", 4, "<topic> <partition> <offset>"),
        (b"0\n1\nt\xff 1 2\n", 3, "UTF-8"),
    ),
)
def test_damaged_offsets_are_rejected_with_their_line(
    text: bytes, line: int, expected: str
) -> None:
    with pytest.raises(DamagedFileError) as caught:
        parse_offset_checkpoint(text, path="/logs/x")

    assert caught.value.path == "/logs/x"
    assert caught.value.position == line
    assert caught.value.expected == expected


@pytest.mark.parametrize("line", (b"1", b"1 2 3", b"-1 2", b"1 -2", b"2147483648 0", b"x 0", b""))
def test_damaged_epochs_are_rejected_with_their_line(line: bytes) -> None:
    with pytest.raises(DamagedFileError, match="expected <epoch> <start offset>") as caught:
        parse_epoch_checkpoint(b"0\n1\n" + line + b"\n", path="/logs/t-0/x")

    assert caught.value.position == 3


def test_error_for_damage_has_the_remedy_for_the_file() -> None:
    with pytest.raises(DamagedFileError) as caught:
        parse_offset_checkpoint(b"7\n", path=f"/logs/{RECOVERY_POINTS}")

    assert str(caught.value) == (
        f"/logs/{RECOVERY_POINTS}: line 1 of the checkpoint is wrong "
        "(position 1, expected version 0, found '7'); "
        "remove the file: recovery then checks every log from its first record"
    )


def test_files_are_replaced_and_survive_a_crash() -> None:
    files = MemoryFiles()

    write_offset_checkpoint(files, f"/{HIGH_WATERMARKS}", offsets={})
    write_offset_checkpoint(files, f"/{HIGH_WATERMARKS}", offsets=OFFSETS)
    write_epoch_checkpoint(files, f"/{LEADER_EPOCHS}", entries=EPOCHS)
    files.crash()

    assert read_offset_checkpoint(files, f"/{HIGH_WATERMARKS}") == OFFSETS
    assert read_epoch_checkpoint(files, f"/{LEADER_EPOCHS}") == EPOCHS


def test_missing_file_has_no_entries() -> None:
    files = MemoryFiles()

    assert read_offset_checkpoint(files, "/x") == {}
    assert read_epoch_checkpoint(files, "/x") == []
