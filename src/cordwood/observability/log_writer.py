"""Writer of log lines on a thread of its own (Kafka: `AsyncAppender` of log4j2).

A caller never waits: the line goes into a bounded queue, and is dropped if the queue is full. A
reader of the standard error that stalls would otherwise stop the event loop. Dropped lines are
counted, and their number is logged as soon as a line can be written again.
"""

import io
import logging
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, TextIO

from cordwood.observability.logs import ROOT, EventFormatter, fields, set_level

#: Lines that wait at most: ten megabytes.
MAX_QUEUED_LINES: Final = 10_000
#: Lines of one write.
_LINES_PER_WRITE: Final = 50
#: The time that the queued lines have at the end of the process.
_END_SECONDS: Final = 1.0


class LogWriter(logging.Handler):
    """Handler whose lines a thread writes. `lost_line` formats the number of dropped lines."""

    def __init__(
        self, write: Callable[[bytes], None], lost_line: Callable[[int], str], *, max_queued: int
    ) -> None:
        super().__init__()
        self._write = write
        self._lost_line = lost_line
        self._max_queued = max_queued
        # Its `put` is reentrant: a signal handler may log.
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._unqueued = 0
        self._unwritten = 0
        self._reported = 0
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)

    @property
    def lost_lines(self) -> int:
        """The number of lines that were dropped or could not be written."""
        return self._unqueued + self._unwritten

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the line of an event, or count it as lost."""
        line = self.format(record)
        if self._lines.qsize() < self._max_queued:
            self._lines.put(line)
        else:
            self._unqueued += 1

    def close(self) -> None:
        """Write the queued lines, but do not wait for a reader that has stalled."""
        super().close()
        if not self._is_closed:
            self._is_closed = True
            self._lines.put(None)
            if self._thread.is_alive():
                self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        while True:
            lines = self._next_lines()
            given = [line for line in lines if line is not None]
            if not self._write_lines(given):
                self._unwritten += len(given)
            lost = self.lost_lines
            if lost > self._reported and self._write_lines(
                [self._lost_line(lost - self._reported)]
            ):
                self._reported = lost
            if None in lines:
                return

    def _next_lines(self) -> list[str | None]:
        """Wait for a line; return it with the lines that are queued behind it."""
        lines = [self._lines.get()]
        with suppress(Empty):
            while len(lines) < _LINES_PER_WRITE and lines[-1] is not None:
                lines.append(self._lines.get_nowait())
        return lines

    def _write_lines(self, lines: list[str]) -> bool:
        """Return whether the lines could be written; a full disk is not an error of the broker."""
        try:
            self._write("".join(f"{line}\n" for line in lines).encode())
        except (OSError, ValueError):  # ValueError: a stream that is closed
            return False
        return True


def write_events(
    stream: TextIO, *, style: str, level: str, max_queued: int = MAX_QUEUED_LINES
) -> LogWriter:
    """Write the events of this package to `stream` until `stop_writing`.

    Warnings of other packages are written too; the standard library would write them to the
    standard error on the thread that logs them.
    """
    formatter = EventFormatter(style)
    writer = LogWriter(
        stream_writer(stream), lambda count: _lost_line(formatter, count), max_queued=max_queued
    )
    writer.setFormatter(formatter)
    for name in (ROOT, None):
        logging.getLogger(name).addHandler(writer)
    logging.getLogger(ROOT).propagate = False
    set_level(ROOT, level)
    writer.start()
    return writer


def stop_writing(writer: LogWriter) -> None:
    """Undo `write_events`; levels of single loggers stay."""
    for name in (ROOT, None):
        logging.getLogger(name).removeHandler(writer)
    logger = logging.getLogger(ROOT)
    logger.propagate = not logger.handlers
    logger.setLevel(logging.NOTSET)
    writer.close()


def _lost_line(formatter: EventFormatter, count: int) -> str:
    record = logging.LogRecord(__name__, logging.ERROR, "", 0, "log lines lost", (), None)
    record.__dict__.update(fields(count=count, remedy="check the reader of the standard error"))
    return formatter.format(record)


def stream_writer(stream: TextIO) -> Callable[[bytes], None]:
    """Return a function that writes to a stream.

    It writes to the descriptor if there is one: the lock of a buffered stream would be held by a
    thread that is blocked, and the process could not end.
    """
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:
        return lambda data: _write_text(stream, data)
    return lambda data: _write_all(descriptor, data)


def _write_text(stream: TextIO, data: bytes) -> None:
    stream.write(data.decode())


def _write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes; another process may have made the descriptor non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
