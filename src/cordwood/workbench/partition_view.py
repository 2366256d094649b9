"""Read-only view of one partition's log, as returned by `cordwood.open_log`.

The log may be in use by a broker, ours or Kafka's, while it is read. Each call reads its current
state; an iterator ends where the log ended when it was created. Files are open only during a call
or an iteration.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Final, Self

from cordwood.core.errors import SettingError
from cordwood.core.ports import Clock, Files
from cordwood.core.types import TopicPartition
from cordwood.records.record import Record
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import (
    open_reader,
    partition_of,
    partition_paths,
    reader_of,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from cordwood.workbench.explain.explanation import Explanation
    from cordwood.workbench.log_statistics import LogStat
    from cordwood.workbench.verify.findings import Verification

ISOLATIONS: Final = ("read_uncommitted", "read_committed")
BATCH_ROWS: Final = 1 << 16
#: Rows that `records` decodes at once; more would only delay the first one.
RECORD_ROWS: Final = 1 << 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOffsets:
    """Start and end of a log, and the number and size of its segments.

    `tail_bytes` at the end of the log are not a whole batch: it is being written, or was torn by a
    crash.
    """

    path: str
    partition: str | None
    log_start: int
    log_end: int
    segments: int
    size: int
    tail_bytes: int

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps(asdict(self))


class PartitionView:
    """One partition's log. Closing it also closes the files of an unfinished iterator.

    >>> log = cordwood.open_log("kafka-logs/orders-0")
    >>> for record in log:
    ...     print(record.offset, record.value)
    0 b'3 beams'
    1 b'4 posts'
    2 b'5 planks'
    """

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
        """Close the open files; the view can still be used."""
        self._reader.close()

    def offsets(self) -> PartitionOffsets:
        """Return the current start and end of the log.

        >>> log.offsets().log_end
        3
        """
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
        """Return an iterator over the records from offset `start` up to but not including `end`.

        Records below the log start are deleted, and not returned. By default all columns are read,
        up to the current end of the log. With `read_committed` the iterator leaves out aborted
        records, and ends at the first open transaction. With `view`, keys and values are views of
        the bytes read, without a copy. A record batch has at most `batch_rows` rows. Damage raises
        CorruptMessageError after all rows before it.

        Args:
            columns: Of offset, timestamp, timestamp_type, key, value, headers,
                partition_leader_epoch, producer_id, producer_epoch and sequence.
            start: First offset to return.
            end: Offset to stop before, by default the end of the log.
            isolation: "read_uncommitted" or "read_committed".
            view: Whether keys and values are views of the bytes that were read.
            batch_rows: Maximum number of rows of a record batch.

        >>> [batch.num_rows for batch in log.arrow(["offset", "value"])]
        [3]
        """
        from cordwood.records.decoder import COLUMNS, Chunking  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.records.kernels import decoder  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.workbench.partition_columns import ColumnsRequest, read_partition  # noqa: PLC0415  # numpy

        _validate_range(start, end, isolation=isolation)
        request = ColumnsRequest(
            columns=COLUMNS if columns is None else tuple(columns),
            start=max(start, self._reader.log_start()),
            end=end,
            is_committed=isolation == "read_committed",
            is_view=view,
            chunking=Chunking(max_rows=batch_rows),
        )
        return read_partition(self._reader, request, decoder=decoder())

    def __iter__(self) -> Iterator[Record]:
        """Yield all records, as `records` does."""
        return self.records()

    def records(
        self, *, start: int = 0, end: int | None = None, isolation: str = "read_uncommitted"
    ) -> Iterator[Record]:
        """Return an iterator over records as Python objects; the arguments are those of `arrow`.

        A run of batches is decoded at once. `arrow` is many times as fast, since it makes no object
        per record.

        >>> [(record.offset, record.value) for record in log.records(start=1)]
        [(1, b'4 posts'), (2, b'5 planks')]
        """
        from cordwood.records.decoder import Chunking  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.records.kernels import decoder  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.workbench.partition_columns import ColumnsRequest, read_chunks  # noqa: PLC0415  # numpy
        from cordwood.workbench.partition_records import RECORD_COLUMNS, records_of  # noqa: PLC0415  # numpy

        _validate_range(start, end, isolation=isolation)
        request = ColumnsRequest(
            columns=RECORD_COLUMNS,
            start=max(start, self._reader.log_start()),
            end=end,
            is_committed=isolation == "read_committed",
            chunking=Chunking(max_rows=RECORD_ROWS),
        )
        chunks = read_chunks(self._reader, request, decoder=decoder())
        return chain.from_iterable(map(records_of, chunks))

    def to_table(
        self,
        columns: Sequence[str] | None = None,
        *,
        start: int = 0,
        end: int | None = None,
        isolation: str = "read_uncommitted",
    ) -> "pa.Table":
        """Return the records as one Arrow table in memory; the arguments are those of `arrow`.

        >>> log.to_table(["offset", "value"]).num_rows
        3
        """
        from cordwood.records.columns import table_of  # noqa: PLC0415  # pyarrow: 0.2 s

        batches = self.arrow(columns, start=start, end=end, isolation=isolation)
        return table_of(batches, columns)

    def to_pandas(
        self,
        columns: Sequence[str] | None = None,
        *,
        start: int = 0,
        end: int | None = None,
        isolation: str = "read_uncommitted",
    ) -> "pd.DataFrame":
        """Return the records as a pandas DataFrame; the arguments are those of `arrow`.

        SettingError if pandas is not installed.

        >>> log.to_pandas(["offset", "value"])["value"].tolist()
        [b'3 beams', b'4 posts', b'5 planks']
        """
        if find_spec("pandas") is None:
            raise SettingError(
                "to_pandas: pandas is not installed",
                key="pandas",
                remedy="pip install pandas, or use to_table()",
            )
        frame: pd.DataFrame = self.to_table(
            columns, start=start, end=end, isolation=isolation
        ).to_pandas()
        return frame

    def stat(self, *, deep: bool = False) -> "LogStat":
        """Return statistics of the batch headers; with `deep`, of the records too.

        >>> log.stat().total.records
        3
        """
        from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.workbench import stat  # noqa: PLC0415  # as above

        return stat.stat(self._files, [self.path], is_deep=deep, checker=batch_checker())

    def verify(self, *, config: Mapping[str, str] | None = None) -> "Verification":
        """Verify every checksum, record, index and snapshot, and return the findings.

        `config` contains settings of the topic. Its cleanup policy decides what missing offsets
        mean, unless the metadata in the log directory contain it.

        >>> log.verify().is_damaged
        False
        """
        from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.workbench.topic_settings_lookup import SettingsFinder  # noqa: PLC0415  # as above
        from cordwood.workbench.verdicts import verify_with_verdicts  # noqa: PLC0415  # as above

        finder = SettingsFinder(self._files, given=config)
        checker = batch_checker()
        return verify_with_verdicts(self._files, [self.path], settings=finder, checker=checker)

    def explain(
        self,
        *,
        config: Mapping[str, str] | None = None,
        broker_config: str | None = None,
        deep: bool = False,
        horizons: bool = False,
    ) -> "Explanation":
        """Return which segments retention deletes now, when it deletes the others, and why.

        For a compacted log the result also contains what the cleaner does. With `deep` it contains
        how many bytes that frees, however large the log is. With `horizons` it contains for each
        batch when its tombstones or markers may be deleted. `config` contains settings of the
        topic; the others are read from the metadata in the log directory and from `broker_config`,
        a server.properties file.
        """
        from cordwood.workbench.explain import explanation  # noqa: PLC0415  # numpy: 0.1 s
        from cordwood.workbench.explain.cleaning_outlook import ExplainDetails  # noqa: PLC0415  # as above
        from cordwood.workbench.topic_settings_lookup import SettingsFinder  # noqa: PLC0415  # as above

        finder = SettingsFinder(self._files, given=config, broker_config=broker_config)
        topic = None if self.partition is None else self.partition.topic
        found = finder.find(directory_of(self.path), topic)
        return explanation.explain(
            self._files,
            self.path,
            found=found,
            now_ms=self._clock.now_ms(),
            details=ExplainDetails(has_horizons=horizons, is_deep=deep),
        )


def open_partition(files: Files, path: str, *, clock: Clock) -> PartitionView:
    """Return the log in a partition's directory; raise LogDirectoryError if there is none."""
    reader = open_reader(files, path)
    return PartitionView(reader, partition_of(path), files=files, clock=clock)


def open_partitions(files: Files, path: str, *, clock: Clock) -> Iterator[PartitionView]:
    """Return an iterator over the logs of a log directory, in the order of their names."""
    return (
        PartitionView(reader_of(files, each), partition_of(each), files=files, clock=clock)
        for each in partition_paths(files, path)
    )


def _validate_range(start: int, end: int | None, *, isolation: str) -> None:
    if isolation not in ISOLATIONS:
        raise SettingError(
            f"isolation: unknown level {isolation!r}",
            key="isolation",
            remedy=f"choose from {', '.join(ISOLATIONS)}",
        )
    for key, offset in (("start", start), ("end", end)):
        if offset is not None and offset < 0:
            raise SettingError(
                f"{key}: {offset} is not an offset", key=key, remedy="choose a number from 0"
            )
