"""Managers for tests: two directories of logs in memory, a clock, a worker, and what was said."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from cordwood.core.ids import Uuid
from cordwood.core.ports import OpenFile, Worker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.stride import Striders, no_strider
from cordwood.storage.directories import Owner, open_directories
from cordwood.storage.file_table import FileTable
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import LogManager
from cordwood.storage.stock import ManagerSettings, ManagerTools
from cordwood.testing.clock import VirtualClock
from cordwood.testing.files import MemoryFiles
from cordwood.testing.random import SeededRandom
from cordwood.testing.worker import InlineWorker

T = TypeVar("T")

ORDERS_ID = Uuid(b"orders' own id..")
OTHER_ID = Uuid(b"an id of another")


def partition(number: int = 0, topic: str = "orders") -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


class Held(Future[T]):
    """A call that is made when somebody waits for it, if the worker has not gone on before."""

    def __init__(self, call: Callable[[], T]) -> None:
        super().__init__()
        self._call: Callable[[], T] | None = call

    def run(self) -> None:
        """Make the call, once."""
        call, self._call = self._call, None
        if call is None:
            return
        try:
            self.set_result(call())
        except Exception as error:  # noqa: BLE001 - who waits gets it
            self.set_exception(error)

    def result(self, timeout: float | None = None) -> T:
        self.run()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.run()
        return super().exception(timeout)


class HeldWorker:
    """A worker that does its work when it is told to, or waited for."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] = []

    def submit(self, call: Callable[[], T]) -> Future[T]:
        pending = Held(call)
        self.held.append(pending.run)
        return pending

    def sync(self, file: OpenFile) -> Future[None]:
        return self.submit(file.sync)

    def go_on(self) -> None:
        """Do what was handed in."""
        held, self.held = self.held, []
        for run in held:
            run()

    def close(self) -> None:
        self.go_on()


class House:
    """Two log directories; `events` are the words that were said."""

    def __init__(self, *paths: str, config: LogConfig | None = None) -> None:
        self.paths = paths or ("/a", "/b")
        self.config = config or LogConfig(segment_bytes=400)
        self.clock = VirtualClock()
        self.files = MemoryFiles(self.clock)
        self.random = SeededRandom(1)
        self.events: list[str] = []
        self.striders: Striders = no_strider

    def open(self, worker: Worker | None = None) -> LogManager:
        """Open the directories, and load nothing."""
        owner = Owner(cluster_id="c", node_id=1, random=self.random, on_event=self.events.append)
        tools = ManagerTools(
            files=self.files,
            clock=self.clock,
            scheduler=self.clock,
            worker=worker or InlineWorker(),
            random=self.random,
            table=FileTable(self.files, 10),
            call_soon=lambda call: call(),
            on_event=self.events.append,
            striders=self.striders,
        )
        settings = ManagerSettings(config_for=lambda _: self.config)
        return LogManager(open_directories(self.files, self.paths, owner=owner), tools, settings)

    def load(self, worker: Worker | None = None) -> LogManager:
        """Open the directories and load what is in them."""
        manager = self.open(worker)
        manager.load()
        return manager

    def names(self, path: str, *, ending: str = "") -> list[str]:
        """Return the names of partitions' directories."""
        found = (f"{path}/{name}" for name in self.files.list(path) if name.endswith(ending))
        return [each.rpartition("/")[2] for each in found if self.files.stat(each).is_directory]


def made(manager: LogManager, *numbers: int) -> list[Log]:
    """Make partitions of one topic."""
    return [manager.create(partition(each), topic_id=ORDERS_ID) for each in numbers or (0,)]
