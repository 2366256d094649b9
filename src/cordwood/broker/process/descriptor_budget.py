"""Descriptors of a broker process: its limit, and the shares of files and connections.

    files          a quarter of the limit, or up to MIN_FILES
    margin         listeners, locks, pipes, status pages, and files that responses still read
    connections    the rest; a connection without TLS has two descriptors

In a program with other work (`of_program`) the files have a limit of their own, and each connection
counts twice: its client may be in the same process, and the program needs descriptors too.

Connections take no descriptor of another share: a client that opens connections must not keep
producers from the files of their logs. Beyond their share, connections wait in the backlog.
"""

import resource
from contextlib import suppress
from typing import Final, NamedTuple

MIN_FILES: Final = 1_000
_MARGIN: Final = 128
_PER_CONNECTION: Final = 2
_FILES_IN_PROGRAM: Final = 200

#: Requested where the hard limit is infinite; some kernels have a limit all the same.
_MANY_DESCRIPTORS: Final = 1 << 20
#: Requested if the kernel rejects that; every system grants it.
_PORTABLE_DESCRIPTORS: Final = 10_240


class DescriptorBudget(NamedTuple):
    """The highest numbers of open log files and of connections."""

    files: int
    connections: int

    @classmethod
    def of(cls, limit: int) -> "DescriptorBudget":
        """Divide a limit; a process with few descriptors still has files and connections."""
        files = max(1, min(max(limit // 4, MIN_FILES), limit // 2))
        margin = min(_MARGIN, limit // 4)
        return cls(files, max(1, (limit - files - margin) // _PER_CONNECTION))

    @classmethod
    def of_program(cls) -> "DescriptorBudget":
        """Divide the limit of a program that embeds a broker; the limit itself stays."""
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit == resource.RLIM_INFINITY:
            limit = _MANY_DESCRIPTORS
        return cls.beside_others(limit)

    @classmethod
    def beside_others(cls, limit: int) -> "DescriptorBudget":
        """Divide a limit between a broker and the rest of its program."""
        files = max(1, min(_FILES_IN_PROGRAM, limit // 4))
        margin = min(_MARGIN, limit // 4)
        return cls(files, max(1, (limit - files - margin) // (2 * _PER_CONNECTION)))


def raise_descriptor_limit() -> int:
    """Raise the soft descriptor limit as far as the system allows, and return it.

    An infinite hard limit does not mean that every value is accepted: the kernel may have a limit
    that it does not report.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MANY_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard
    for limit in (most, max(soft, _PORTABLE_DESCRIPTORS)):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return limit
    return soft
