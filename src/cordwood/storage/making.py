"""A new log: in the directory with the fewest, or where the caller wants a copy of one to grow.

What could not be made leaves nothing behind, so that the next directory may be tried. Its topic id
is on disk before the log can be written to, and no checkpoint speaks of an earlier partition of its
name.
"""

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import InvalidPartitionsError, KafkaStorageError
from cordwood.core.ids import Uuid
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.storage import names
from cordwood.storage.deletions import remove_tree
from cordwood.storage.disk_errors import described, is_of_a_name, is_of_disk
from cordwood.storage.loading import LogPlace, LogTools
from cordwood.storage.log import Log
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.partition_metadata import (
    ensure_same_topic,
    read_partition_metadata,
    write_partition_metadata,
)
from cordwood.storage.shelf import Shelf
from cordwood.storage.stock import ManagerTools, Stock


def create(
    stock: Stock, partition: TopicPartition, *, topic_id: Uuid | None, is_new: bool = False
) -> Log:
    """Return a partition's log, made if there is none; see `LogManager.create`."""
    log = stock.current.find(partition)
    if log is not None:
        _ensure_topic_id(stock, log, topic_id)
        return log
    ensure_name(partition)
    outages = [each.outage for each in stock.directories if each.outage is not None]
    if not stock.online or (outages and not is_new):
        raise KafkaStorageError(f"{partition} cannot be made: {'; '.join(outages)}")
    name = names.directory_name(partition)
    ensure_nowhere(stock, name)
    refusals = []
    for directory in sorted(stock.online, key=stock.count_in):
        place = stock.place(partition, directory, name=name, is_new=True)
        try:
            return _make(stock, stock.current, place, topic_id=topic_id)
        except KafkaStorageError as error:
            refusals.append(error)
    raise refusals[0]


def create_future(stock: Stock, partition: TopicPartition, *, directory: LogDirectory) -> Log:
    """Return an empty copy of a log in another directory; see `LogManager.create_future`."""
    directory.ensure_online()
    current = stock.current.existing(partition)
    if stock.futures.find(partition) is not None:
        raise KafkaStorageError(f"{partition} is on its way to another directory already")
    if stock.home_of(current.directory) is directory:
        raise KafkaStorageError(f"{partition} is in {directory.path} already")
    name = names.future_directory_name(partition, stock.tools.random.token(16))
    place = stock.place(partition, directory, name=name, is_new=True)
    return _make(stock, stock.futures, place, topic_id=topic_id_of(stock, current))


def topic_id_of(stock: Stock, log: Log) -> Uuid | None:
    """Return the id that a log's directory says its topic has, None if it says nothing."""
    with stock.using(log):
        return read_partition_metadata(stock.tools.files, log.directory)


def _ensure_topic_id(stock: Stock, log: Log, topic_id: Uuid | None) -> None:
    """Refuse another topic's log; one that does not say whose it is belongs to this one."""
    if topic_id is None:
        return
    found = topic_id_of(stock, log)
    ensure_same_topic(found, topic_id, directory=log.directory)
    if found is None:
        with stock.using(log):
            write_partition_metadata(stock.tools.files, log.directory, topic_id=topic_id)


def _make(stock: Stock, shelf: Shelf, place: LogPlace, *, topic_id: Uuid | None) -> Log:
    directory = stock.home_of(place.directory)
    tools = stock.tools
    try:
        stock.forget_checkpoints(place.partition, directory)
        own = LogTools(table=tools.table, random=tools.random, deletions=stock.deletions)
        log = open_new(place, tools, own=own, topic_id=topic_id)
    except OSError as error:
        unmake(stock, place.directory, error=error)
        words = f"{place.directory} could not be made: {described(error)}"
        raise KafkaStorageError(words) from error
    shelf.put(log, directory)
    return log


def open_new(place: LogPlace, tools: ManagerTools, *, own: LogTools, topic_id: Uuid | None) -> Log:
    """Make a log's directory and its first files; nothing is touched that logs share."""
    log = Log.open(place, own, clock=tools.clock)
    if topic_id is not None:
        write_partition_metadata(tools.files, place.directory, topic_id=topic_id)
    return log


def ensure_name(partition: TopicPartition) -> None:
    """Refuse what no partition is called."""
    names.ensure_topic_name(partition.topic)
    if not 0 <= partition.partition <= INT32_MAX:
        raise InvalidPartitionsError(f"{partition} has no number from 0 to {INT32_MAX}")


def ensure_nowhere(stock: Stock, name: str) -> None:
    """Refuse to make what somebody has put into a directory since that was loaded.

    Made in another one it would be in two at the next start.
    """
    for directory in stock.online:
        path = f"{directory.path}/{name}"
        if _is_directory(stock.tools.files, path):
            raise KafkaStorageError(
                f"{path} is there and has not been loaded; start anew to load it, or move it away"
            )


def _is_directory(files: Files, path: str) -> bool:
    try:
        return files.stat(path).is_directory
    except OSError:  # who makes it hears of that again
        return False


def unmake(stock: Stock, path: str, *, error: OSError) -> None:
    """Remove what was made of a log, or take the directory offline with it."""
    directory = stock.home_of(path)
    if is_of_disk(error):
        stock.fail(directory, error)
    if is_of_disk(error) or is_of_a_name(error):  # nothing has been made under that name
        return
    with stock.failing(directory):
        stock.tools.table.forget_under(path)
        remove_tree(stock.tools.files, path)
