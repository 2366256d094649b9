"""The sink with a hook: a process of the sink dies, stands still or fails at a named point.

    rows        a task has written half of its rows, and its transaction is open
    task        a task has written its rows, and leaves its transaction open
    entry       `commit` begins
    intent      the intent record is written, and its transaction is open
    decided     that transaction is committed
    half        one transaction of a task is committed, the others are not
    ended       all are committed
    done        `commit` returns

The option `hook` is `<point>@<batch>:<action>:<folder>`. A file in the folder has the process that
has reached the point; a hook acts once. Another file has the last error.
"""

import os
import signal
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from cordwood.spark.data_source import CordwoodSource
from cordwood.spark.sink.exactly_once.request_runner import RequestRunner
from cordwood.spark.sink.exactly_once.sink_requests import End, SinkRequest, WriteRecord

if TYPE_CHECKING:
    import pyarrow as pa

HOOK: Final = "hook"
REACHED: Final = "reached"
RELEASED: Final = "released"
#: The file with the error of a task or a commit.
OUTCOME: Final = "outcome"
#: Longer than a run of the harness waits: it kills what stands still, or releases it.
_STILL_S: Final = 3_600


class Hook(NamedTuple):
    """A point, the batch, and what happens there."""

    point: str
    batch: int
    action: str
    folder: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the hook of an option."""
        place, action, folder = text.split(":", 2)
        point, _, batch = place.partition("@")
        return cls(point, int(batch), action, folder)

    def reach(self, point: str, batch: int) -> None:
        """Act if the point is reached for the first time."""
        if (point, batch) != (self.point, self.batch):
            return
        try:
            with Path(self.folder, REACHED).open("x", encoding="utf-8") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return
        if self.action in {"executor", "orphan"}:
            _kill_executor()
        if self.action in {"die", "executor"}:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.action == "raise":
            raise RuntimeError(f"hook at {point}")
        self._stand()

    def _stand(self) -> None:
        """Stand still until a file releases the process."""
        for _ in range(_STILL_S * 50):
            if Path(self.folder, RELEASED).exists():
                return
            Event().wait(0.02)


def _kill_executor() -> None:
    """Kill the daemon of this worker, and the JVM of its executor."""
    daemon = os.getppid()
    words = Path(f"/proc/{daemon}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    os.kill(daemon, signal.SIGKILL)
    os.kill(int(words[1]), signal.SIGKILL)


class _HookedRequests:
    """Watches the requests of a commit."""

    def __init__(self) -> None:
        self.hook: Hook | None = None
        self.batch = -1
        self._perform = RequestRunner.perform

    def install(self) -> None:
        """Replace the method that performs requests, in this process."""
        if RequestRunner.perform is self._perform:
            watch = self

            async def perform(runner: RequestRunner, request: SinkRequest[object]) -> object:
                return await watch.performed(runner, request)

            setattr(RequestRunner, "perform", perform)  # noqa: B010  # a hook

    async def performed(self, runner: RequestRunner, request: SinkRequest[object]) -> object:
        """Perform a request, and reach the point after it."""
        hook = self.hook
        if hook is None:
            return await self._perform(runner, request)
        if not isinstance(request, End) or not request.commit:
            answer = await self._perform(runner, request)
            if isinstance(request, WriteRecord):
                hook.reach("intent", self.batch)
            return answer
        if request.handles[0].transactional_id.endswith("-driver"):
            answer = await self._perform(runner, request)
            hook.reach("decided", self.batch)
            return answer
        if (hook.point, hook.batch) == ("half", self.batch):
            await self._perform(runner, replace(request, handles=request.handles[:1]))
            hook.reach("half", self.batch)
        answer = await self._perform(runner, request)
        hook.reach("ended", self.batch)
        return answer


_REQUESTS: Final = _HookedRequests()


class HookedWriter(DataSourceStreamArrowWriter):
    """A writer of the sink with a hook."""

    def __init__(self, writer: DataSourceStreamArrowWriter, hook: Hook) -> None:
        self._writer = writer
        self._hook = hook

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        """Write the rows of a task."""
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() != 0:
            return self._writer.write(iterator)
        batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        try:
            message = self._writer.write(self._halves(iterator, batch))
        except Exception as error:
            self._note(error)
            raise
        self._hook.reach("task", batch)
        return message

    def _halves(
        self, iterator: "Iterator[pa.RecordBatch]", batch: int
    ) -> "Iterator[pa.RecordBatch]":
        """Yield the rows, and reach a point in their middle."""
        for rows in iterator:
            yield rows.slice(0, rows.num_rows // 2)
            self._hook.reach("rows", batch)
            yield rows.slice(rows.num_rows // 2)

    def _note(self, error: Exception) -> None:
        Path(self._hook.folder, OUTCOME).write_text(str(error), encoding="utf-8")

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Commit a batch."""
        _REQUESTS.install()
        _REQUESTS.hook, _REQUESTS.batch = self._hook, batchId
        try:
            self._hook.reach("entry", batchId)
            self._writer.commit(list(messages), batchId)
            self._hook.reach("done", batchId)
        except Exception as error:
            self._note(error)
            raise
        finally:
            _REQUESTS.hook = None

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Abort a batch."""
        self._writer.abort(list(messages), batchId)


class HookedSink(CordwoodSource):
    """The data source whose streaming writer has a hook."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        given = dict(options)
        self._hook = Hook.parse(given.pop(HOOK))
        super().__init__(given)

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "hooked"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: FBT001, N802  # as Spark calls it
        """Return the writer with its hook."""
        return HookedWriter(super().streamWriter(schema, overwrite), self._hook)
