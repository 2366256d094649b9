r"""Checkpoint files (Kafka: `OffsetCheckpointFile`, `LeaderEpochCheckpointFile`).

    0                      version
    2                      the number of entries
    orders 0 120           topic partition offset     in an offset checkpoint
    orders 1 7

    0
    1
    3 120                  epoch start-offset         in a leader epoch checkpoint

The text is UTF-8. Written lines end with \n; a reader accepts \r and \r\n too. White space
separates the fields. A file that is missing, empty or ends after the version has no entries: Kafka
creates it empty.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from cordwood.core.binary import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import Files
from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.files.atomic_write import read_whole, write_atomically

T = TypeVar("T")

# In the root of a log directory.
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
# In a partition's directory.
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"

_VERSION: Final = 0
_LINE_END = re.compile(r"\r\n|\r|\n")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_WHITE_SPACE = re.compile(r"[ \t\v\f]+")


def read_offset_checkpoint(files: Files, path: str) -> dict[TopicPartition, Offset]:
    """Return the offsets in a file; none if the file does not exist."""
    return parse_offset_checkpoint(_read(files, path), path=path)


def write_offset_checkpoint(
    files: Files, path: str, *, offsets: Mapping[TopicPartition, Offset]
) -> None:
    """Replace the offsets in a file atomically: a crash leaves the old or the new ones."""
    write_atomically(files, path, data=format_offset_checkpoint(offsets))


def read_epoch_checkpoint(files: Files, path: str) -> list[EpochEntry]:
    """Return the epochs in a file, in its order; none if the file does not exist."""
    return parse_epoch_checkpoint(_read(files, path), path=path)


def write_epoch_checkpoint(files: Files, path: str, *, entries: Iterable[EpochEntry]) -> None:
    """Replace the epochs in a file atomically: a crash leaves the old or the new ones."""
    write_atomically(files, path, data=format_epoch_checkpoint(entries))


def format_offset_checkpoint(offsets: Mapping[TopicPartition, Offset]) -> bytes:
    """Return the text of an offset checkpoint."""
    return _format(f"{topic} {number} {offset}" for (topic, number), offset in offsets.items())


def parse_offset_checkpoint(data: bytes, *, path: str) -> dict[TopicPartition, Offset]:
    """Return the offsets in the text; the last one of a partition wins."""
    return dict(_parse(data, _offset_of, form="<topic> <partition> <offset>", path=path))


def format_epoch_checkpoint(entries: Iterable[EpochEntry]) -> bytes:
    """Return the text of a leader epoch checkpoint."""
    return _format(f"{epoch} {start_offset}" for epoch, start_offset in entries)


def parse_epoch_checkpoint(data: bytes, *, path: str) -> list[EpochEntry]:
    """Return the epochs in the text, in its order, whether or not they increase."""
    return _parse(data, _epoch_entry_of, form="<epoch> <start offset>", path=path)


def _read(files: Files, path: str) -> bytes:
    try:
        return read_whole(files, path)
    except FileNotFoundError:
        return b""


def _format(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in (_VERSION, len(lines), *lines)).encode()


def _parse(
    data: bytes, entry_of: Callable[[list[str]], T | None], *, form: str, path: str
) -> list[T]:
    lines = _lines(data, path)
    if not lines:
        return []
    version = _number(lines[0], INT32_MIN, INT32_MAX)
    if version != _VERSION:
        raise _damage(path, 1, expected=f"version {_VERSION}", found=lines[0])
    if len(lines) == 1:
        return []
    count = _number(lines[1], 0, INT32_MAX)
    if count is None:
        raise _damage(path, 2, expected="the number of entries", found=lines[1])
    entries = []
    for number, line in enumerate(lines[2:], 3):
        entry = entry_of(_fields(line))
        if entry is None:
            raise _damage(path, number, expected=form, found=line)
        entries.append(entry)
    if len(entries) != count:
        raise _damage(path, 2, expected=f"{len(entries)}, the number of entries", found=lines[1])
    return entries


def _lines(data: bytes, path: str) -> list[str]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        found = f"the byte {data[error.start]:#x}"
        raise _damage(path, number, expected="UTF-8", found=found) from error
    lines = _LINE_END.split(text)
    return lines[:-1] if not lines[-1] else lines


def _fields(line: str) -> list[str]:
    """Return the fields. As in Kafka, white space counts at the start and not at the end."""
    return _WHITE_SPACE.split(line.rstrip(" \t\v\f"))


def _offset_of(fields: list[str]) -> tuple[TopicPartition, Offset] | None:
    if len(fields) != 3 or not fields[0]:
        return None
    partition = _number(fields[1], 0, INT32_MAX)
    offset = _number(fields[2], INT64_MIN, INT64_MAX)
    if partition is None or offset is None:
        return None
    return TopicPartition(TopicName(fields[0]), PartitionId(partition)), Offset(offset)


def _epoch_entry_of(fields: list[str]) -> EpochEntry | None:
    if len(fields) != 2:
        return None
    epoch = _number(fields[0], 0, INT32_MAX)
    start_offset = _number(fields[1], 0, INT64_MAX)
    if epoch is None or start_offset is None:
        return None
    return EpochEntry(LeaderEpoch(epoch), Offset(start_offset))


def _number(text: str, lowest: int, highest: int) -> int | None:
    """Return the number in `text`; None if it is not a number or is out of range."""
    if len(text) > 20 or _WHOLE_NUMBER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if lowest <= number <= highest else None


def _damage(path: str, line: int, *, expected: str, found: str) -> DamagedFileError:
    name = path.rpartition("/")[2]
    return DamagedFileError(
        f"line {line} of the checkpoint is wrong",
        path=path,
        position=line,
        expected=expected,
        found=repr(found[:80]),
        remedy=_REMEDIES.get(name, "remove the file"),
    )


_REMEDIES: Final = {
    RECOVERY_POINTS: "remove the file: recovery then checks every log from its first record",
    LOG_START_OFFSETS: "remove the file: every log then starts with its oldest segment, so that "
    "records deleted by DeleteRecords may come back",
    HIGH_WATERMARKS: "remove the file: high watermarks then advance again from the log start",
    CLEANER_OFFSETS: "remove the file: every compacted log is then cleaned from its start",
    LEADER_EPOCHS: "remove the file: the log then has only the epochs from its next leader on",
}
