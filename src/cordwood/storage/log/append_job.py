"""Work on the records of a leader's append, as a job for any thread (Kafka: `UnifiedLog.append`).

    1. begin    the owner fixes the config and the time (`log_append.begin_append`)
    2. run      any thread analyzes, validates and perhaps recompresses the record set
    3. finish   the owner assigns offsets and leader epoch, and writes (`log_append.finish_append`)

A job is a value without the state of the log, so any change of the log may happen while it runs.
Several jobs of a log may run at once. The result is one v2 batch with offsets from 0: base offset
and leader epoch lie outside the checksum, so step 3 sets them in place.

A coordinator of this broker builds its own batches. Their records and checksums are not read again,
unless the topic stores them in another form.
"""

from typing import Final, NamedTuple

from cordwood.records.batch_header import BatchHeader, place_batch, read_header
from cordwood.records.record import TimestampType
from cordwood.records.record_batch import MAGIC
from cordwood.records.record_checks import Inspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log_config import PRODUCER, LogConfig
from cordwood.storage.validation.log_validator import ValidationParameters, validate
from cordwood.storage.validation.record_set_analysis import analyze, ensure_size
from cordwood.storage.validation.validation_cost import is_small

_NONE: Final = -1
_NO_RECORDS: Final = memoryview(b"")


class PreparedRecords(NamedTuple):
    """A valid batch without its offsets, to be appended once; `header` is None without a batch.

    `data` is the buffer of the caller, or a new one for a batch that was built again. The leader
    epoch in the header is that of the received batch.
    """

    origin: AppendOrigin
    data: memoryview = _NO_RECORDS
    header: BatchHeader | None = None
    log_append_time_ms: int = _NONE

    def assign(self, first_offset: int, leader_epoch: int) -> BatchHeader:
        """Write offsets and leader epoch into the batch, and return its new header."""
        assert self.header is not None, "there is a batch"
        return place_batch(
            self.data, self.header, base_offset=first_offset, leader_epoch=leader_epoch
        )


class AppendJob(NamedTuple):
    """A record set, and the facts that its validation needs."""

    data: memoryview
    origin: AppendOrigin
    config: LogConfig
    now_ms: int
    inspector: Inspector

    @property
    def is_small(self) -> bool:
        """Whether `run` takes less than about 1 ms, so that a loop may call it.

        Perhaps decompresses up to 64 KiB.
        """
        return self._is_as_built or is_small(
            self.data, self.config, is_compiled=self.inspector.is_compiled
        )

    def run(self) -> PreparedRecords:
        """Check every record, and return the batch to write; after an error `data` is unchanged."""
        if self._is_as_built and (header := _only_header(self.data)) is not None:
            ensure_size(header, self.config.max_message_bytes)
            return PreparedRecords(self.origin, self.data, header)
        info = analyze(self.data, self.origin, max_message_bytes=self.config.max_message_bytes)
        if not info.headers:
            return PreparedRecords(self.origin)
        received_epoch = info.headers[0].partition_leader_epoch
        found = validate(
            self.data,
            info,
            append=ValidationParameters(0, received_epoch, self.now_ms, self.origin),
            config=self.config,
            inspector=self.inspector,
        )
        (header,) = found.headers
        assert (header.magic, header.base_offset) == (MAGIC, 0)
        return PreparedRecords(self.origin, found.data, header, found.log_append_time_ms)

    @property
    def _is_as_built(self) -> bool:
        """Whether the records are those of a coordinator, and are stored as it has built them."""
        config = self.config
        return (
            self.origin is AppendOrigin.COORDINATOR
            and config.compression_type == PRODUCER
            and config.message_timestamp_type is TimestampType.CREATE_TIME
        )


def _only_header(data: memoryview) -> BatchHeader | None:
    """Return the header of one whole batch with all offsets from 0 on, None for another set."""
    header = read_header(data)
    if header is None or header.magic != MAGIC or header.size != len(data):
        return None
    is_dense = header.base_offset == 0 and header.last_offset == header.record_count - 1
    return header if is_dense and header.record_count else None
