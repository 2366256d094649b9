"""Offsets in the checkpoint of a query (Spark: `OffsetSeqLog`, `CommitLog`), as rows for a person.

    metadata     {"id": "…"}                 the query
    offsets/7    v1 · {…} · {"orders": …}    a batch: version, settings, a line for each source
    commits/7    v1 · {…}                    the batch is finished

Sources of other formats have lines that are not offsets of topics; they are skipped.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from cordwood.core.errors import SettingError
from cordwood.spark.stream.stream_offset import StreamOffset, parse_offset

#: Lines before those of the sources.
HEADER_LINES: Final = 2
#: The line of a source without an offset (Spark: `OffsetSeqLog.SERIALIZED_VOID_OFFSET`).
_NO_OFFSET: Final = "-"


class Checkpoint(NamedTuple):
    """The last batch of a query: its number, whether it is finished, and its ends by source."""

    query_id: str
    batch: int
    is_finished: bool
    ends: dict[int, StreamOffset]


def read_checkpoint(folder: Path) -> Checkpoint:
    """Return the last batch of a checkpoint; SettingError if the folder has none."""
    try:
        query = json.loads((folder / "metadata").read_text())["id"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingError(
            f"{folder}: is not the checkpoint of a query ({error})",
            key="checkpoint",
            remedy="give the folder of the option checkpointLocation",
        ) from error
    batches = sorted(batch_numbers(folder / "offsets"))
    if not batches:
        raise SettingError(
            f"{folder}: the query has no batch yet",
            key="checkpoint",
            remedy="run the query until its first batch",
        )
    last = batches[-1]
    is_finished = last in batch_numbers(folder / "commits")
    return Checkpoint(str(query), last, is_finished, ends_of_batch(folder, last))


def checkpoint_rows(checkpoint: Checkpoint) -> list[dict[str, object]]:
    """Return a row for each partition of each source."""
    return [
        {
            "QUERY": checkpoint.query_id,
            "BATCH": checkpoint.batch,
            "STATE": "finished" if checkpoint.is_finished else "planned",
            "SOURCE": source,
            "TOPIC": topic,
            "PARTITION": partition,
            "NEXT-OFFSET": offset,
        }
        for source, end in sorted(checkpoint.ends.items())
        for (topic, partition), offset in sorted(end.positions.items())
    ]


def batch_numbers(folder: Path) -> set[int]:
    """Return the batches of a log; the folder of a log may not exist yet."""
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    return {int(name) for name in names if name.isdecimal()}


def batch_path(folder: Path, batch: int) -> Path:
    """Return the file with the ends of a batch."""
    return folder / "offsets" / str(batch)


def ends_of_batch(folder: Path, batch: int) -> dict[int, StreamOffset]:
    """Return the ends of a batch by source; SettingError if its file is not whole."""
    path = batch_path(folder, batch)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        return dict(_ends(lines[HEADER_LINES:]))
    except ValueError as error:
        raise SettingError(
            f"{path}: is damaged or not complete ({error})",
            key="checkpoint",
            remedy="restore it from a copy, or begin a new checkpoint",
        ) from error


def _ends(lines: list[str]) -> Iterator[tuple[int, StreamOffset]]:
    """Yield the offsets of our sources and of spark-sql-kafka's, with their numbers."""
    if not lines:
        raise ValueError("it has no line of a source")
    for number, line in enumerate(lines):
        parsed = None if line == _NO_OFFSET else json.loads(line)
        if isinstance(parsed, dict):
            with suppress(SettingError):  # the offset of another source
                yield number, parse_offset(parsed)
