"""Log managers for tests: two log directories in memory, a clock, a worker, and the events."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeAlias, TypeVar

from cordwood.core.ports import Lane, LoopPorts, OpenFile, Worker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.records.tail_scan import TailScanners, no_tail_scanner
from cordwood.storage.checkpoints.partition_metadata_file import write_partition_metadata
from cordwood.storage.files.file_names import future_directory_name
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from cordwood.storage.manager.deleted_ranges import DeletedRange
from cordwood.storage.manager.log_directories import DirectoryOwner, open_directories
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_manager import LogManager, ManagerOptions, ManagerSettings
from cordwood.storage.manager.log_startup import load_logs
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock

T = TypeVar("T")
Notice: TypeAlias = Callable[[], object]

ORDERS_ID = Uuid(b"orders' own id..")
OTHER_ID = Uuid(b"an id of another")


def partition(number: int = 0, topic: str = "orders") -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


class HeldCall(Future[T]):
    """A call that runs when its result is awaited, or earlier with its worker.

    If its result is awaited, its callbacks are made later, as on a loop that waits.
    """

    def __init__(
        self, call: Callable[[], T], later: Callable[[Callable[[], object]], object]
    ) -> None:
        super().__init__()
        self._call: Callable[[], T] | None = call
        self._later = later
        self._is_awaited = False

    def add_done_callback(self, fn: Callable[[Future[T]], object]) -> None:
        def notify(done: Future[T]) -> None:
            if self._is_awaited:
                self._later(lambda: fn(done))
            else:
                fn(done)

        super().add_done_callback(notify)

    def run(self) -> None:
        """Run the call, once."""
        call, self._call = self._call, None
        if call is None:
            return
        try:
            self.set_result(call())
        except Exception as error:  # noqa: BLE001 - the future gets it
            self.set_exception(error)

    def result(self, timeout: float | None = None) -> T:
        self._await()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._await()
        return super().exception(timeout)

    def _await(self) -> None:
        self._is_awaited = True
        try:
            self.run()
        finally:
            self._is_awaited = False


class HeldWorker:
    """A worker that runs its calls in `go_on`, or when a result is awaited.

    Calls for the files of an append run at once, unless it `holds_files`.
    """

    def __init__(self, *, holds_files: bool = False) -> None:
        self.held: list[Notice] = []
        self._holds_files = holds_files

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:
        pending = HeldCall(call, self._hold)
        if lane is Lane.FILES and not self._holds_files:
            pending.run()
        else:
            self.held.append(pending.run)
        return pending

    def sync(self, file: OpenFile) -> Future[None]:
        return self.submit(file.sync, lane=Lane.FLUSH)

    def _hold(self, call: Notice) -> None:
        self.held.append(call)

    def go_on(self) -> None:
        """Run the submitted calls."""
        held, self.held = self.held, []
        for run in held:
            run()

    def close(self) -> None:
        self.go_on()


class LogManagerHarness:
    """Two log directories; `events` are the messages for the operator.

    `task_failures` counts the failed periodic tasks.
    """

    def __init__(self, *paths: str, config: LogConfig | None = None) -> None:
        self.paths = paths or ("/a", "/b")
        self.config = config or LogConfig(segment_bytes=400)
        self.clock = VirtualClock()
        self.files = MemoryFiles(self.clock)
        self.random = SeededRandom(1)
        self.events: list[str] = []
        self.task_failures = 0
        self.deleted = list[DeletedRange]()
        self.striders: TailScanners = no_tail_scanner
        self.check_start: Callable[[], object] = lambda: None

    def open(self, worker: Worker | None = None) -> LogManager:
        """Open the directories without loading logs."""
        owner = DirectoryOwner(
            cluster_id="c", node_id=1, random=self.random, on_event=self.events.append
        )
        ports = LoopPorts(
            files=self.files,
            clock=self.clock,
            random=self.random,
            scheduler=self.clock,
            worker=worker or InlineWorker(),
        )
        options = ManagerOptions(
            open_files=OpenFileCache(self.files, 10),
            call_soon=lambda call: call(),
            on_event=self.events.append,
            on_task_failure=self._count_failure,
            striders=self.striders,
            check_start=self.check_start,
            on_deleted=self.deleted.append,
        )
        settings = ManagerSettings(config_for=lambda _: self.config)
        return LogManager(
            open_directories(self.files, self.paths, owner=owner), ports, settings, options
        )

    def _count_failure(self) -> None:
        self.task_failures += 1

    def load(self, worker: Worker | None = None) -> LogManager:
        """Open the directories and load their logs."""
        manager = self.open(worker)
        load_logs(manager)
        return manager

    def names(self, path: str, *, ending: str = "") -> list[str]:
        """Return the names of the partition directories."""
        found = (f"{path}/{name}" for name in self.files.list(path) if name.endswith(ending))
        return [each.rpartition("/")[2] for each in found if self.files.stat(each).is_directory]


def create_future_log(
    manager: LogManager, partition: TopicPartition, directory: LogDirectory
) -> Log:
    """Create an empty future log, as Kafka does when a log moves to another directory."""
    name = future_directory_name(partition, manager.ports.random.token(16))
    place = manager.place(partition, directory, name=name, is_new=True)
    log = Log.open(
        place, manager.ports, table=manager.options.open_files, deletions=manager.deletions
    )
    topic_id = manager.topic_id(partition)
    if topic_id is not None:
        write_partition_metadata(manager.ports.files, log.directory, topic_id=topic_id)
    manager.future.put(log, directory)
    return log


def create_logs(manager: LogManager, *numbers: int) -> list[Log]:
    """Create the logs of partitions of one topic."""
    return [
        log_creation.create(manager, partition(each), topic_id=ORDERS_ID)
        for each in numbers or (0,)
    ]
