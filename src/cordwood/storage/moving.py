"""Directories of logs get other names: when they are deleted, set aside, or take another's place.

    delete      orders-0            -> orders-0.<unique>-delete, and is removed a while later
    set aside   orders-0            -> orders-0.<unique>-stray, and stays
    promote     orders-0            -> orders-0.<unique>-delete
                orders-0.<..>-future -> orders-0, in another log directory

In between the two steps of a promotion the partition is in no place, never in two: what was to be
replaced is not removed before the second is done, and gets its name back if that fails.
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
    _remove_later(
        stock, _moved_away(stock, partition, shelf=shelf, rename=names.deleted_directory_name)
    )


def set_aside(stock: Stock, partition: TopicPartition) -> None:
    """Keep the files of a log that nobody here should have."""
    _moved_away(stock, partition, shelf=stock.current, rename=names.stray_directory_name)


def promote(stock: Stock, partition: TopicPartition) -> Log:
    """Let a copy take the place of the log; everything in it is durable first."""
    future = stock.futures.existing(partition)
    current = stock.current.find(partition)
    with stock.using(future):
        future.flush()
        if current is not None:
            future.set_high_watermark(current.bounds.high_watermark)
    doomed = None
    if current is not None:
        doomed = _moved_away(
            stock, partition, shelf=stock.current, rename=names.deleted_directory_name
        )
    try:
        _move(stock, future, name=names.directory_name(partition))
    except KafkaStorageError:
        if current is not None:
            _move(stock, current, name=names.directory_name(partition))
            stock.current.put(current, stock.home_of(current.directory))
        raise
    home = stock.futures.homes[partition]
    stock.futures.drop(partition)
    stock.current.put(future, home)
    if doomed is not None:
        _remove_later(stock, doomed)
    return future


def _moved_away(stock: Stock, partition: TopicPartition, *, shelf: Shelf, rename: Rename) -> str:
    """Give a log's directory a name under which it is not found; return where it is."""
    log = shelf.existing(partition)
    _move(stock, log, name=rename(partition, stock.tools.random.token(16)))
    shelf.drop(partition)
    log.lease = log.lease.abort()
    return log.directory


def _move(stock: Stock, log: Log, *, name: str) -> None:
    """Give a log's directory another name, durably."""
    directory = stock.home_of(log.directory)
    with stock.using(log):
        log.move(f"{directory.path}/{name}")
        stock.tools.files.sync_directory(directory.path)


def _remove_later(stock: Stock, path: str) -> None:
    stock.deletions.remove_tree_later(path, delay_ms=stock.settings.delete_delay_ms)
