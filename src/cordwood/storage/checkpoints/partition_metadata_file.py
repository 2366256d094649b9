"""`partition.metadata`, the topic id of a partition directory (Kafka: `PartitionMetadataFile`).

    version: 0
    topic_id: 3Adc4FjfTeypRWROmQDNIQ       without a line end

A topic that is deleted and created again has another id under the same name. A directory with the
old id must not be used for the new topic, so the file is on disk before the first record.
"""

import re
from typing import Final

from cordwood.core.errors import BytesError, DamagedFileError, InconsistentTopicIdError
from cordwood.core.ports import Files
from cordwood.core.uuids import NO_UUID, Uuid, format_uuid, parse_uuid
from cordwood.storage.files.atomic_write import read_whole, write_atomically

PARTITION_METADATA: Final = "partition.metadata"

_VERSION = re.compile(r"version:\s+\+?[0-9]{1,10}")
_TOPIC_ID = re.compile(r"topic_id:\s+(\S+)")
_LINE_END = re.compile(r"\r\n|\r|\n")


def read_partition_metadata(files: Files, directory: str) -> Uuid | None:
    """Return the topic id of a partition directory; None if the file does not exist."""
    path = f"{directory}/{PARTITION_METADATA}"
    try:
        data = read_whole(files, path)
    except FileNotFoundError:
        return None
    return parse_partition_metadata(data, path=path)


def write_partition_metadata(files: Files, directory: str, *, topic_id: Uuid) -> None:
    """Write the topic id of a partition directory."""
    data = format_partition_metadata(topic_id)
    write_atomically(files, f"{directory}/{PARTITION_METADATA}", data=data)


def ensure_same_topic(found: Uuid | None, expected: Uuid, *, directory: str) -> None:
    """Raise `InconsistentTopicIdError` if a directory has the id of another topic."""
    if found is not None and found != expected:
        raise InconsistentTopicIdError(
            f"{directory}: the topic id differs (expected {format_uuid(expected)}, "
            f"found {format_uuid(found)})"
        )


def format_partition_metadata(topic_id: Uuid) -> bytes:
    """Return the text of the file."""
    return f"version: 0\ntopic_id: {format_uuid(topic_id)}".encode("ascii")


def parse_partition_metadata(data: bytes, *, path: str) -> Uuid:
    """Return the topic id in the text. Further lines are ignored: later versions may add them."""
    lines = [*_LINE_END.split(data.decode(errors="replace")), ""][:2]
    if _VERSION.fullmatch(lines[0]) is None:
        raise _damage(path, 1, expected="version: 0", found=lines[0])
    found = _TOPIC_ID.fullmatch(lines[1])
    if found is None:
        raise _damage(path, 2, expected="topic_id: <id>", found=lines[1])
    try:
        topic_id = parse_uuid(found[1])
    except BytesError as error:
        raise _damage(path, 2, expected=str(error.expected), found=found[1]) from error
    if topic_id == NO_UUID:
        raise _damage(path, 2, expected="the id of a topic", found=found[1])
    return topic_id


def _damage(path: str, line: int, *, expected: str, found: str) -> DamagedFileError:
    return DamagedFileError(
        f"line {line} is wrong",
        path=path,
        position=line,
        expected=expected,
        found=repr(found[:80]),
        remedy="write it again with the topic id, or move the directory away",
    )
