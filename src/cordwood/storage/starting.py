"""Every log of every directory is opened, several at a time.

1. the directories are listed; a partition that is in two of them stops it here, untouched
2. what was deleted is to go, what was set aside stays, the rest is loaded on the worker
3. a log that cannot be read takes its directory offline, as a disk that fails does
"""

from functools import partial
from typing import Final

from cordwood.core.ports import Pending
from cordwood.storage.file_table import FileTable
from cordwood.storage.loading import LogPlace
from cordwood.storage.log import Log
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.names import DirectorySuffix
from cordwood.storage.partition_metadata import read_partition_metadata
from cordwood.storage.shelf import Shelf
from cordwood.storage.stock import FAULTS, Stock

#: As many files as one log needs open while it is loaded or closed.
FILES_OF_ONE: Final = 8


def load_all(stock: Stock) -> None:
    """Load what is there; LogDirectoryError if a name is none, or in two places."""
    found: list[tuple[Shelf, LogPlace]] = []
    doomed: list[str] = []
    for directory in stock.online:
        with stock.failing(directory):
            _look_into(stock, directory, found, doomed)
    for path in doomed:
        stock.deletions.remove_tree_later(path, delay_ms=stock.settings.delete_delay_ms)
    submit = stock.tools.worker.submit
    loading = [(shelf, place, submit(partial(_load, stock, place))) for shelf, place in found]
    for _, _, pending in loading:
        pending.exception()
    for shelf, place, pending in loading:
        _put(stock, shelf, place, pending)
    for directory in stock.online:
        directory.is_loaded = True


def _look_into(
    stock: Stock,
    directory: LogDirectory,
    found: list[tuple[Shelf, LogPlace]],
    doomed: list[str],
) -> None:
    """Note what is in a directory, and whose place it is."""
    shelves = {DirectorySuffix.NONE: stock.current, DirectorySuffix.FUTURE: stock.futures}
    for name, (partition, suffix) in directory.partitions().items():
        if suffix is DirectorySuffix.DELETE:
            doomed.append(f"{directory.path}/{name}")
        elif suffix in shelves:
            shelves[suffix].claim(partition, directory)
            found.append((shelves[suffix], stock.place(partition, directory, name=name)))


def _load(stock: Stock, place: LogPlace) -> Log:
    """Load a log, on the worker, with files of its own; none of them stays open."""
    table = FileTable(stock.tools.files, FILES_OF_ONE)
    try:
        log = Log.open(place, stock.log_tools(table), clock=stock.tools.clock)
        read_partition_metadata(stock.tools.files, place.directory)
    finally:
        table.close()
    return log


def _put(stock: Stock, shelf: Shelf, place: LogPlace, pending: Pending[Log]) -> None:
    """Let a log be found, now that it is loaded."""
    directory = stock.home_of(place.directory)
    if not directory.is_online:
        return
    try:
        log = pending.result()
    except FAULTS as error:
        stock.tools.on_event(f"{place.directory} cannot be loaded: {error}")
        stock.fail(directory, error)
        return
    log.use(stock.tools.table)
    if log.report.is_worth_telling:
        stock.tools.on_event(f"{log.directory}: {log.report}")
    shelf.put(log, directory)
