"""Many new logs at once, whose making does not hold up the owner of all others.

    begin     by the owner, a few a step: each is given its place, in the directory with the fewest
    make      anywhere, it blocks: directories and files; nothing is touched that logs share
    finish    by the owner, a few a step: those that were made are found from here on

Others may have their turn between two steps.

One that could not be made where it was to be is tried again as any other log is, by the owner. One
whose directory failed meanwhile is offline with it: nobody knows how much of it is there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ids import Uuid
from cordwood.core.types import TopicPartition
from cordwood.storage import making
from cordwood.storage.deletions import GatheredDeletions
from cordwood.storage.file_table import FileTable
from cordwood.storage.loading import LogPlace, LogTools
from cordwood.storage.log import Log
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.names import directory_name
from cordwood.storage.starting import FILES_OF_ONE
from cordwood.storage.stock import Stock

_AT_ONCE: Final = 20


@dataclass(slots=True)
class _New:
    """Where a log is to be, and what has come of it."""

    home: LogDirectory
    place: LogPlace
    topic_id: Uuid
    made: Log | OSError | None = None


class NewLogs:
    """Logs in the making."""

    def __init__(self, stock: Stock) -> None:
        self._stock = stock
        self._new: list[_New] = []

    def begin(self, wanted: Iterable[tuple[TopicPartition, Uuid]]) -> Iterator[None]:
        """Choose where each is to be; KafkaStorageError if there is no place at all."""
        stock, rest = self._stock, iter(wanted)
        homes = {each.path: each for each in stock.online}
        if not homes:
            raise KafkaStorageError("there is no log directory left to make logs in")
        counts = Counter({path: stock.count_in(home) for path, home in homes.items()})
        while some := [*islice(rest, _AT_ONCE)]:
            for partition, topic_id in some:
                home = homes[min(counts, key=counts.__getitem__)]
                counts[home.path] += 1
                self._begin(partition, topic_id, home=home)
            yield

    def make(self) -> None:
        """Make them."""
        for new in self._new:
            try:
                new.made = self._open(new)
            except OSError as error:
                new.made = error
            except KafkaStorageError:
                continue

    def finish(self) -> Iterator[dict[TopicPartition, KafkaStorageError]]:
        """Let them be found; yield of the others why they are not there."""
        rest = iter(self._new)
        while some := [*islice(rest, _AT_ONCE)]:
            refused = {}
            for new in some:
                try:
                    self._finish(new)
                except KafkaStorageError as error:
                    refused[new.place.partition] = error
            yield refused

    def _begin(self, partition: TopicPartition, topic_id: Uuid, *, home: LogDirectory) -> None:
        making.ensure_name(partition)
        with self._stock.failing(home):
            self._stock.forget_checkpoints(partition, home)
        name = directory_name(partition)
        place = self._stock.place(partition, home, name=name, is_new=True)
        self._new.append(_New(home, place, topic_id))

    def _open(self, new: _New) -> Log:
        tools = self._stock.tools
        table = FileTable(tools.files, FILES_OF_ONE)
        own = LogTools(table=table, random=tools.random, deletions=GatheredDeletions())
        try:
            making.ensure_nowhere(self._stock, directory_name(new.place.partition))
            return making.open_new(new.place, tools, own=own, topic_id=new.topic_id)
        finally:
            table.close()

    def _finish(self, new: _New) -> None:
        stock, partition = self._stock, new.place.partition
        if isinstance(new.made, Log):
            if not new.home.is_online:
                stock.current.claim(partition, new.home)
                new.home.ensure_online()
            new.made.use(stock.tools.table, stock.deletions)
            stock.current.put(new.made, new.home)
            return
        if new.made is not None:
            making.unmake(stock, new.place.directory, error=new.made)
        making.create(stock, partition, topic_id=new.topic_id, is_new=True)
