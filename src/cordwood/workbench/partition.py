"""What `cordwood.open_log` returns: one partition's log, to be looked at and not to be changed.

The log may be in use, by us or by Kafka, while it is read. Each call looks at it as it is then; a
reading goes as far as the log did when it began. Files are open during a call or a reading only.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Self

from cordwood.core.errors import SettingError
from cordwood.core.ports import Clock, Files
from cordwood.core.types import TopicPartition
from cordwood.storage.atomic import directory_of
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_place import open_reader, partition_of, partition_paths, reader_of

if TYPE_CHECKING:
    import pyarrow as pa

    from cordwood.workbench.explain import Explanation
    from cordwood.workbench.findings import Verification
    from cordwood.workbench.log_sums import LogStat

ISOLATIONS: Final = ("read_uncommitted", "read_committed")
BATCH_ROWS: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOffsets:
    """Where a log starts and ends, and in how many segments and bytes.

    `tail_bytes` stand at its very end and are no whole batch: being written, or torn by a crash.
    """

    path: str
    partition: str | None
    log_start: int
    log_end: int
    segments: int
    size: int
    tail_bytes: int

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        return json.dumps(asdict(self))


class PartitionView:
    """One partition's log. A reading that is left in the middle is closed with the view."""

    __slots__ = ("_clock", "_files", "_reader", "partition", "path")

    def __init__(
        self,
        reader: PartitionReader,
        partition: TopicPartition | None,
        *,
        files: Files,
        clock: Clock,
    ) -> None:
        self.path = reader.source.path
        self.partition = partition
        self._reader = reader
        self._files = files
        self._clock = clock

    def __repr__(self) -> str:
        return f"PartitionView({self.path!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the files that are open; the view can be used again all the same."""
        self._reader.close()

    def offsets(self) -> PartitionOffsets:
        """Return where the log starts and ends now."""
        with closing(self._reader):
            bounds = self._reader.offsets()
            segments = self._reader.segments()
        return PartitionOffsets(
            path=self.path,
            partition=None if self.partition is None else str(self.partition),
            log_start=bounds.log_start,
            log_end=bounds.log_end,
            segments=len(segments),
            size=sum(segment.size for segment in segments),
            tail_bytes=bounds.tail_bytes,
        )

    def arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        start: int = 0,
        end: int | None = None,
        isolation: str = "read_uncommitted",
        view: bool = False,
        batch_rows: int = BATCH_ROWS,
    ) -> Iterator["pa.RecordBatch"]:
        """Return an iterator over the records from offset `start` up to, not including, `end`.

        Without columns all of them; without an end, the log's end as it is now. A `read_committed`
        reading ends where a transaction is still open, and leaves out what was aborted. With `view`
        keys and values are views of the bytes that were read, which are not copied. A record batch
        has at most `batch_rows` rows. Damage raises CorruptMessageError, after all rows before it.
        """
        from cordwood.records.chunk import COLUMNS, Chunking  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.records.kernels import decoder  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.workbench.columns import ColumnsWanted, read_partition  # noqa: PLC0415  # numpy

        _ensure_sensible(start, end, isolation=isolation)
        wanted = ColumnsWanted(
            columns=COLUMNS if columns is None else tuple(columns),
            start=start,
            end=end,
            is_committed=isolation == "read_committed",
            is_view=view,
            chunking=Chunking(max_rows=batch_rows),
        )
        return read_partition(self._reader, wanted, decoder=decoder())

    def stat(self, *, deep: bool = False) -> "LogStat":
        """Return what batch headers say together; with `deep` what the records say, too."""
        from cordwood.records.kernels import sweeper  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.workbench import stat  # noqa: PLC0415  # as above

        return stat.stat(self._files, [self.path], is_deep=deep, sweeper=sweeper())

    def verify(self, *, config: Mapping[str, str] | None = None) -> "Verification":
        """Check every checksum, record, index and snapshot, and return what was found.

        `config` gives settings of the topic: its cleanup policy tells what missing offsets mean,
        where no metadata beside the log do.
        """
        from cordwood.records.kernels import sweeper  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.workbench import verify  # noqa: PLC0415  # as above
        from cordwood.workbench.settings_found import SettingsFinder  # noqa: PLC0415  # as above

        finder = SettingsFinder(self._files, given=config)
        return verify.verify(self._files, [self.path], settings=finder, sweeper=sweeper())

    def explain(
        self,
        *,
        config: Mapping[str, str] | None = None,
        broker_config: str | None = None,
        deep: bool = False,
        horizons: bool = False,
    ) -> "Explanation":
        """Return which segments retention takes now, when it takes the others, and by what setting.

        Of a compacted log also what the cleaner does: with `deep` how much that frees, however
        large the log is; with `horizons` from when on it may take tombstones and markers, batch by
        batch. `config` gives settings of the topic; what it does not give is looked for in the
        metadata beside the log and in `broker_config`, a file of broker settings.
        """
        from cordwood.workbench import explain  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.workbench.explain_cleaning import Details  # noqa: PLC0415  # as above
        from cordwood.workbench.settings_found import SettingsFinder  # noqa: PLC0415  # as above

        finder = SettingsFinder(self._files, given=config, broker_config=broker_config)
        topic = None if self.partition is None else self.partition.topic
        found = finder.of(directory_of(self.path), topic)
        return explain.explain(
            self._files,
            self.path,
            found=found,
            now_ms=self._clock.now_ms(),
            details=Details(has_horizons=horizons, is_deep=deep),
        )


def open_partition(files: Files, path: str, *, clock: Clock) -> PartitionView:
    """Return the log in a partition's directory; LogDirectoryError where there is none."""
    reader = open_reader(files, path)
    return PartitionView(reader, partition_of(path), files=files, clock=clock)


def open_partitions(files: Files, path: str, *, clock: Clock) -> Iterator[PartitionView]:
    """Return an iterator over the logs of a log directory, in the order of their names."""
    return (
        PartitionView(reader_of(files, each), partition_of(each), files=files, clock=clock)
        for each in partition_paths(files, path)
    )


def _ensure_sensible(start: int, end: int | None, *, isolation: str) -> None:
    if isolation not in ISOLATIONS:
        raise SettingError(
            f"there is no isolation {isolation!r}",
            key="isolation",
            remedy=f"choose from {', '.join(ISOLATIONS)}",
        )
    for key, offset in (("start", start), ("end", end)):
        if offset is not None and offset < 0:
            raise SettingError(
                f"{key} = {offset} is no offset", key=key, remedy="choose a number from 0 on"
            )
