"""Takeover of a checkpoint of spark-sql-kafka (its `KafkaSourceInitialOffsetWriter`), and back.

    sources/0/0   a zero byte · v1 · {"orders": {"0": 20}}    where spark-sql-kafka begins batch 0
    offsets/0     v1 · {…} · {"@cordwood": {"start": …}, "orders": …}    the same here

A Python source cannot read the first file, and spark-sql-kafka rejects the key `@cordwood`. The
rest has one form. Only a batch 0 that is planned and not finished needs its start.

Each file is replaced atomically, after Spark's checksum of it is removed: Spark reads a file
without one. A takeover that was killed can be repeated.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.core.ports import Files
from cordwood.spark.source.source_options import Offsets
from cordwood.spark.stream.checkpoint_offsets import (
    HEADER_LINES,
    Checkpoint,
    batch_numbers,
    batch_path,
    ends_of_batch,
    read_checkpoint,
)
from cordwood.spark.stream.stream_offset import (
    JsonObject,
    StreamOffset,
    checkpoint_json,
    offsets_json,
    parse_offset,
)
from cordwood.storage.files.atomic_write import write_atomically

_FIRST_BATCH: Final = 0
#: The bytes before the JSON of a start of spark-sql-kafka.
_START_HEADER: Final = "\0v1\n"


def adopt_from_kafka(files: Files, folder: Path) -> list[Path]:
    """Give an unfinished batch 0 its start; return the changed files."""
    checkpoint = read_checkpoint(folder)
    if checkpoint.batch != _FIRST_BATCH or checkpoint.is_finished:
        return []
    begun = {
        source: checkpoint_json(end._replace(start=_kafka_start(folder, source)))
        for source, end in checkpoint.ends.items()
        if end.start is None
    }
    return [*_replace_ends(files, folder, _FIRST_BATCH, ends=begun)]


def adopt_to_kafka(files: Files, folder: Path) -> list[Path]:
    """Store the start of an unfinished batch 0, and remove the key; return the changed files."""
    changed = [*_store_starts(files, folder, read_checkpoint(folder))]
    for batch in sorted(batch_numbers(folder / "offsets")):
        plain = {
            source: offsets_json(end.positions)
            for source, end in ends_of_batch(folder, batch).items()
            if end != StreamOffset(end.positions)
        }
        changed += _replace_ends(files, folder, batch, ends=plain)
    return changed


def _store_starts(files: Files, folder: Path, checkpoint: Checkpoint) -> Iterator[Path]:
    """Write the starts of a batch that is planned and not finished; yield the files."""
    for source, end in sorted(checkpoint.ends.items()):
        if checkpoint.is_finished or end.start is None:
            continue
        if checkpoint.batch != _FIRST_BATCH:
            raise SettingError(
                f"{folder}: batch {checkpoint.batch} is not finished, and begins before the end of"
                " the batch before it, because a log was truncated",
                key="checkpoint",
                remedy="let the query finish the batch first",
            )
        path = _start_path(folder, source)
        path.parent.mkdir(parents=True, exist_ok=True)
        yield _replace(files, path, f"{_START_HEADER}{_text(offsets_json(end.start))}")


def _kafka_start(folder: Path, source: int) -> Offsets:
    """Return where spark-sql-kafka begins batch 0."""
    path = _start_path(folder, source)
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except (OSError, TypeError, ValueError) as error:
        raise SettingError(
            f"{path}: not the start of a query of spark-sql-kafka ({error})",
            key="checkpoint",
            remedy="finish batch 0 with spark-sql-kafka, or begin a new checkpoint",
        ) from error


def _parsed(text: str) -> Offsets:
    """Return the offsets of a start."""
    if not text.startswith(_START_HEADER):
        raise ValueError(f"it begins with {text[:4]!r}")
    start = json.loads(text.removeprefix(_START_HEADER))
    if not isinstance(start, dict):
        raise TypeError("it is not an object of topics")
    return parse_offset(start).positions


def _start_path(folder: Path, source: int) -> Path:
    return folder / "sources" / str(source) / str(_FIRST_BATCH)


def _replace_ends(
    files: Files, folder: Path, batch: int, *, ends: Mapping[int, JsonObject]
) -> Iterator[Path]:
    """Write ends of a batch in place of those of the same sources; yield the file."""
    if not ends:
        return
    path = batch_path(folder, batch)
    lines = path.read_text(encoding="utf-8").split("\n")
    for source, end in ends.items():
        lines[HEADER_LINES + source] = _text(end)
    yield _replace(files, path, "\n".join(lines))


def _replace(files: Files, path: Path, text: str) -> Path:
    with suppress(FileNotFoundError):
        files.remove(str(path.with_name(f".{path.name}.crc")))
    write_atomically(files, str(path), data=text.encode())
    return path


def _text(offsets: JsonObject) -> str:
    return json.dumps(offsets, separators=(",", ":"))
