"""The transaction of a write task: its requests, performed by a producer.

The transaction begins with the first row, so a task without rows leaves none. An error, also of
the task that reads the rows, aborts it; a process that dies leaves it to the driver. The producer
of a successful task is kept for a later one (`kept_producers`).
"""

from typing import TYPE_CHECKING, Final, Self, TypeVar, cast

import pyarrow as pa

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Clock
from cordwood.records import kernels
from cordwood.spark.sink.exactly_once.kept_producers import SinkProducer, kept_producers
from cordwood.spark.sink.exactly_once.sink_requests import Now, SinkRequest, Steps
from cordwood.spark.sink.exactly_once.task_write import BeginRows, LeaveOpen, SendRows
from cordwood.spark.sink.row_digest import digest_of
from cordwood.spark.sink.row_producer import RowProducer, slices
from cordwood.spark.sink.sink_columns import record_columns, split_by_topic
from cordwood.spark.sink.sink_options import SinkOptions

if TYPE_CHECKING:
    from types import TracebackType

R = TypeVar("R")

_ID: Final = "transactional.id"
_TIMEOUT: Final = "transaction.timeout.ms"


class TaskTransaction:
    """A producer with one transaction."""

    def __init__(self, options: SinkOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._config: dict[str, str] = {}
        self._producer: SinkProducer | None = None
        self._rows: RowProducer | None = None
        #: Whether the task has ended its part.
        self._is_left = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> None:
        """Keep the producer; after an error close it, which aborts its transaction."""
        producer, self._producer = self._producer, None
        if producer is None:
            return
        if error is None and self._is_left:
            kept_producers().keep(self._config, producer)
        else:
            producer.close()

    def run(self, steps: Steps[R]) -> R:
        """Run the steps of a task, and return their result."""
        try:
            request = next(steps)
            while True:
                try:
                    answer = self._perform(request)
                except CordwoodError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as end:
            return cast("R", end.value)

    def _perform(self, request: SinkRequest[object]) -> object:
        match request:
            case BeginRows():
                self._open(request)
                return None
            case SendRows():
                return self._send(cast("pa.RecordBatch", request.rows))
            case LeaveOpen():
                return self._leave_open()
            case Now():
                return self._clock.now_ms()
        raise AssertionError(f"a task has no request {request}")

    def _open(self, request: BeginRows) -> None:
        self._config = {
            **self._options.producer,
            _ID: request.transactional_id,
            _TIMEOUT: str(request.timeout_ms),
        }
        self._producer = kept_producers().take(self._config)
        self._rows = RowProducer(self._producer, self._options, clock=self._clock)
        self._rows.has_digest = True

    def _send(self, batch: pa.RecordBatch) -> tuple[int, int]:
        assert self._producer is not None, "the transaction is opened first"
        assert self._rows is not None, "the transaction is opened first"
        if not batch.num_rows:
            return 0, 0
        if not self._rows.count:
            self._producer.init()
            self._producer.begin()
        before = self._rows.digest
        self._rows.send(batch)
        return batch.num_rows, self._rows.digest - before

    def _leave_open(self) -> TransactionHandle | None:
        self._is_left = True
        if self._producer is None or self._rows is None or not self._rows.count:
            return None
        self._rows.finish()
        return self._producer.detach()


class BatchDigest:
    """Number and digest of the rows of a batch that is not written."""

    def __init__(self, options: SinkOptions) -> None:
        self._topic = options.topic
        self._encoder = kernels.encoder()

    def __call__(self, rows: pa.RecordBatch) -> tuple[int, int]:
        """Return them as `TaskTransaction` does for rows that it sends."""
        digest = 0
        for part in slices(rows):
            for topic, topic_rows in split_by_topic(part, self._topic):
                columns = record_columns(topic_rows, now_ms=0)
                digest += digest_of(topic, columns, encoder=self._encoder)
        return rows.num_rows, digest
