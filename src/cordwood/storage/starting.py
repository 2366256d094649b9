"""Every log of every directory is opened, a few at a time.

1. the directories are listed; a partition that is in two of them stops it here, untouched
2. what was deleted is to go, what was set aside stays, the rest is loaded on the worker
3. a log that is damaged is offline, alone; a disk that fails takes its directory offline

A log that the disk has no room for, as its indexes have to be written, stays offline until the next
start: which epoch it is led in and whose it is are settled before anybody is served.

Whatever comes out of the loading of one log is the end of that log alone: the worker's threads
touch nothing that logs share, but for what any thread may.
"""

from functools import partial
from typing import Final, NamedTuple

from cordwood.storage.atomic import directory_of
from cordwood.storage.deletions import GatheredDeletions
from cordwood.storage.disk_errors import NO_ROOM, described, is_of_disk
from cordwood.storage.file_table import FileTable
from cordwood.storage.lanes import Task, outcomes
from cordwood.storage.loading import LogPlace, LogTools
from cordwood.storage.log import Log
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.names import DirectorySuffix
from cordwood.storage.partition_metadata import read_partition_metadata
from cordwood.storage.shelf import Shelf
from cordwood.storage.stock import Stock

#: As many files as one log needs open while it is loaded or closed.
FILES_OF_ONE: Final = 8


class _Loading(NamedTuple):
    """A log to be loaded, where it is to be found then, and what is to be deleted of it."""

    place: LogPlace
    shelf: Shelf
    deletions: GatheredDeletions


def load_all(stock: Stock) -> None:
    """Load what is there; LogDirectoryError if a name is none, or in two places."""
    found: list[_Loading] = []
    doomed: list[str] = []
    for directory in stock.online:
        with stock.failing(directory):
            _look_into(stock, directory, found, doomed)
    for path in doomed:
        stock.deletions.remove_tree_later(path, delay_ms=stock.settings.delete_delay_ms)
    tasks = [
        Task(directory_of(each.place.directory), partial(_load, stock, each)) for each in found
    ]
    loaded = outcomes(stock.tools.worker, tasks, lanes=stock.settings.threads_per_directory)
    for loading, outcome in zip(found, loaded, strict=True):
        _put(stock, loading, outcome)
    for directory in stock.online:
        directory.is_loaded = True


def _look_into(
    stock: Stock, directory: LogDirectory, found: list[_Loading], doomed: list[str]
) -> None:
    """Note what is in a directory, and whose place it is."""
    shelves = {DirectorySuffix.NONE: stock.current, DirectorySuffix.FUTURE: stock.futures}
    for name, (partition, suffix) in directory.partitions().items():
        if suffix is DirectorySuffix.DELETE:
            doomed.append(f"{directory.path}/{name}")
        elif suffix in shelves:
            shelves[suffix].claim(partition, directory)
            place = stock.place(partition, directory, name=name)
            found.append(_Loading(place, shelves[suffix], GatheredDeletions()))


def _load(stock: Stock, loading: _Loading) -> Log:
    """Load a log, on the worker, with files of its own; none of them stays open."""
    tools, place = stock.tools, loading.place
    table = FileTable(tools.files, FILES_OF_ONE)
    try:
        own = LogTools(
            table=table,
            random=tools.random,
            deletions=loading.deletions,
            striders=tools.striders,
        )
        log = Log.open(place, own, clock=tools.clock)
        read_partition_metadata(tools.files, place.directory)
    finally:
        table.close()
    return log


def _put(stock: Stock, loading: _Loading, outcome: Log | Exception) -> None:
    """Let a log be found, now that it is loaded."""
    directory = stock.home_of(loading.place.directory)
    if not directory.is_online:
        return
    if isinstance(outcome, Exception):
        _refuse(stock, loading, outcome)
        return
    outcome.use(stock.tools.table, stock.deletions)
    loading.deletions.hand_over(stock.deletions)
    if outcome.report.is_worth_telling:
        stock.tools.on_event(f"{outcome.directory}: {outcome.report}")
    loading.shelf.put(outcome, directory)


def _refuse(stock: Stock, loading: _Loading, error: Exception) -> None:
    """Let a log be offline that could not be loaded, or the disk that it is on."""
    directory = stock.home_of(loading.place.directory)
    words = f"{loading.place.directory} cannot be loaded: {described(error)}"
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        words += "; make room, and start again"
    stock.tools.on_event(words)
    if is_of_disk(error):
        stock.fail(directory, error)
    else:
        loading.shelf.refuse(loading.place.partition, words)
        directory.is_whole = False
