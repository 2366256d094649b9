"""Planted leaks: mistakes that the soak has to find.

kept_sessions       a fetch session is never dropped
endless_tasks       each connection starts a task that does not end
open_descriptors    a duplicate of each connection's socket stays open
kept_producers      an idle producer id is never expired
kept_labels         a deleted topic keeps its labels in the metrics
kept_files          the directory of a deleted partition stays
"""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cordwood.broker.network.connection import Connection
from cordwood.broker.network.response_writer import SocketWriter
from cordwood.broker.partitions.fetch_sessions import FetchSession
from cordwood.broker.partitions.topic_metrics import TopicMetrics
from cordwood.storage.files.delayed_deletions import ScheduledDeletions
from cordwood.storage.log.log import Log


@contextmanager
def _replaced(owner: type, name: str, call: Callable[..., object]) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def _afterwards(owner: type, name: str, call: Callable[..., object]) -> Iterator[None]:
    """Pass the arguments and the result of a method to `call` too."""
    original = getattr(owner, name)

    def both(*arguments: object, **options: object) -> object:
        result = original(*arguments, **options)
        call(result, *arguments)
        return result

    with _replaced(owner, name, both):
        yield


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


@contextmanager
def kept_sessions() -> Iterator[None]:
    kept = []
    with _afterwards(FetchSession, "__init__", lambda _, session, *__: kept.append(session)):
        yield


@contextmanager
def endless_tasks() -> Iterator[None]:
    kept = []

    def start(*_: object) -> None:
        kept.append(asyncio.get_running_loop().create_task(asyncio.Event().wait()))

    with _afterwards(Connection, "__init__", start):
        yield
    for task in kept:
        task.cancel()


@contextmanager
def open_descriptors() -> Iterator[None]:
    kept = []

    def duplicate(_: object, __: object, accepted: socket.socket, *___: object) -> None:
        kept.append(os.dup(accepted.fileno()))

    with _afterwards(SocketWriter, "__init__", duplicate):
        yield
    for descriptor in kept:
        os.close(descriptor)


@contextmanager
def kept_producers() -> Iterator[None]:
    with _replaced(Log, "expire_producers", _nothing):
        yield


@contextmanager
def kept_labels() -> Iterator[None]:
    with _replaced(TopicMetrics, "remove", _nothing):
        yield


@contextmanager
def kept_files() -> Iterator[None]:
    with _replaced(ScheduledDeletions, "remove_trees_later", _nothing):
        yield
