"""The standard error of the JVM of a command, without the messages of a normal start.

Spark prints seven lines before its log level applies: the JVM's modules, the log configuration, the
host name. They hide the messages of a job on a terminal. PySpark also prints a traceback when Spark
stops a task that has enough rows, as after `limit`. All other lines pass.
"""

import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

_OF_START: Final = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|Using Spark's default log4j profile"
    rb"|Setting (default|Spark) log level to"
    rb"|To adjust logging level use"
    rb"|[\d/]+ [\d:]+ WARN (NativeCodeLoader: Unable to load native-hadoop"
    rb"|Utils: Your hostname|Utils: Set SPARK_LOCAL_IP)"
)
#: The traceback of PySpark's daemon after Spark has closed the connection to a task.
_OF_LIMIT: Final = re.compile(
    rb"Traceback [^\n]*\n( [^\n]*\n)*? [^\n]*pyspark/daemon\.py[^\n]*\n( [^\n]*\n)*"
    rb"BrokenPipeError[^\n]*\n"
)


@contextmanager
def filtered_stderr() -> Iterator[int]:
    """Yield a descriptor for the standard error of a process that is started in the block.

    A thread copies its lines until the process and its children have closed it.
    """
    source, given = os.pipe()
    target = os.dup(2)  # the present one, as the process would inherit it
    threading.Thread(target=copy_lines, args=(source, target), daemon=True).start()
    try:
        yield given
    finally:
        os.close(given)


def copy_lines(source: int, target: int) -> None:
    """Copy the lines of a descriptor to another one, except messages of a start; close both."""
    with os.fdopen(source, "rb") as lines, os.fdopen(target, "wb", buffering=0) as copied:
        for block in _blocks(lines):
            if _OF_START.match(block) is None and _OF_LIMIT.fullmatch(block) is None:
                copied.write(block)


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each line, but a traceback with the line of its error as one block."""
    block = b""
    for line in lines:
        if block and not line.startswith(b" "):
            yield block + line
            block = b""
        elif block or line.startswith(b"Traceback"):
            block += line
        else:
            yield line
    if block:
        yield block
