"""Directories of logs get other names: when they are deleted, set aside, or take another's place.

    delete      orders-0             -> orders-0.<unique>-delete, and is removed a while later
    set aside   orders-0             -> orders-0.<unique>-stray, and stays
    promote     orders-0             -> orders-0.<unique>-stray
                orders-0.<..>-future -> orders-0, in another log directory
                orders-0.<..>-stray  -> orders-0.<unique>-delete

In between the steps of a promotion the partition is in no place, never in two, and nothing is
removed before the second step is done, whatever a crash or a failing disk makes of it.

A step that is refused has changed nothing. One that stops half way takes its log directory offline,
for nobody knows then which name is the durable one. If that is the second step of a promotion, the
log that was to be replaced stays aside: with its old name it might be in two places at the next
start.
"""

from collections.abc import Callable

from cordwood.core.errors import KafkaStorageError
from cordwood.core.types import TopicPartition
from cordwood.storage import names
from cordwood.storage.log import Log
from cordwood.storage.shelf import Shelf
from cordwood.storage.stock import Stock

Rename = Callable[[TopicPartition, bytes], str]


def delete(stock: Stock, partition: TopicPartition, *, shelf: Shelf) -> None:
    """Remove a log: from here on there is none, a while later its files go too."""
    log = shelf.existing(partition)
    _move_away(stock, log, rename=names.deleted_directory_name)
    _drop(shelf, log)
    _remove_later(stock, log)


def set_aside(stock: Stock, partition: TopicPartition) -> None:
    """Keep the files of a log that nobody here should have."""
    log = stock.current.existing(partition)
    _move_away(stock, log, rename=names.stray_directory_name)
    _drop(stock.current, log)


def promote(stock: Stock, partition: TopicPartition) -> Log:
    """Let a copy take the place of the log; everything in it is durable first."""
    future = stock.futures.existing(partition)
    current = stock.current.find(partition)
    _flush(stock, future)
    if current is not None:
        future.set_high_watermark(current.bounds.high_watermark)
        future.bounds.cleaned_to = current.bounds.cleaned_to
        _move_away(stock, current, rename=names.stray_directory_name)
    home = stock.home_of(future.directory)
    try:
        _move(stock, future, name=names.directory_name(partition))
    except KafkaStorageError:
        if current is not None and future.is_torn:
            _drop(stock.current, current)
            stock.current.claim(partition, home)
            stock.tools.on_event(f"{current.directory} is kept: {home.path} may have its copy")
        elif current is not None:
            _give_name_back(stock, current)
        raise
    stock.futures.drop(partition)
    if current is not None:
        _drop(stock.current, current)
    stock.current.put(future, home)
    if current is not None:
        _remove(stock, current)
    return future


def _flush(stock: Stock, log: Log) -> None:
    """Make all of a log durable; when that fails its directory goes offline, as ever."""
    with stock.using(log):
        try:
            log.flush()
        except OSError as error:
            raise stock.refuse(log, error) from error


def _give_name_back(stock: Stock, log: Log) -> None:
    """Undo the first step of a promotion; a directory in which that fails cannot go on."""
    try:
        _move(stock, log, name=names.directory_name(log.partition))
    except KafkaStorageError as error:
        stock.fail(stock.home_of(log.directory), error)


def _remove(stock: Stock, log: Log) -> None:
    """Delete a log that has been replaced; if that is refused it stays aside."""
    try:
        _move_away(stock, log, rename=names.deleted_directory_name)
    except KafkaStorageError as error:
        stock.tools.on_event(f"{log.directory} has been replaced and can be removed: {error}")
    else:
        _remove_later(stock, log)


def _move_away(stock: Stock, log: Log, *, rename: Rename) -> None:
    """Give a log's directory a name under which it is not found."""
    _move(stock, log, name=rename(log.partition, stock.tools.random.token(16)))


def _move(stock: Stock, log: Log, *, name: str) -> None:
    directory = stock.home_of(log.directory)
    with stock.using(log):
        log.move(f"{directory.path}/{name}")


def _drop(shelf: Shelf, log: Log) -> None:
    """Know of a log no more; who is at work on it has to stop."""
    shelf.drop(log.partition)
    log.lease = log.lease.abort()


def _remove_later(stock: Stock, log: Log) -> None:
    stock.deletions.remove_tree_later(log.directory, delay_ms=stock.settings.delete_delay_ms)
