"""A Kafka-compatible log in Python. The public names live here and are resolved on first use.

Importing this package costs a few milliseconds: a name's module is imported when the name is first
asked for, so that `import cordwood` brings in no numpy, no pyarrow and no asyncio. The functions
that open something put it on the files of this machine.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from cordwood.core.errors import CordwoodError
    from cordwood.records.batch import RecordBatch
    from cordwood.records.builder import BatchBuilder, BatchFields
    from cordwood.records.chunk import Request, Selection
    from cordwood.records.columns import read_columns, read_table
    from cordwood.records.compression import Codec
    from cordwood.records.kernels import decoder, warm
    from cordwood.records.legacy import LegacyBatch
    from cordwood.records.record import Record, TimestampType
    from cordwood.records.stream import batches
    from cordwood.workbench.partition import PartitionView

__version__ = "0.1.0"

__all__ = (
    "BatchBuilder",
    "BatchFields",
    "Codec",
    "CordwoodError",
    "LegacyBatch",
    "PartitionView",
    "Record",
    "RecordBatch",
    "Request",
    "Selection",
    "TimestampType",
    "__version__",
    "batches",
    "decoder",
    "open_directory",
    "open_log",
    "read_columns",
    "read_table",
    "warm",
)

_HOMES = {
    "BatchBuilder": "cordwood.records.builder",
    "BatchFields": "cordwood.records.builder",
    "Codec": "cordwood.records.compression",
    "CordwoodError": "cordwood.core.errors",
    "LegacyBatch": "cordwood.records.legacy",
    "PartitionView": "cordwood.workbench.partition",
    "Record": "cordwood.records.record",
    "RecordBatch": "cordwood.records.batch",
    "Request": "cordwood.records.chunk",
    "Selection": "cordwood.records.chunk",
    "TimestampType": "cordwood.records.record",
    "batches": "cordwood.records.stream",
    "decoder": "cordwood.records.kernels",
    "read_columns": "cordwood.records.columns",
    "read_table": "cordwood.records.columns",
    "warm": "cordwood.records.kernels",
}


def open_log(path: "str | PathLike[str]") -> "PartitionView":
    """Return a read-only view of a partition's directory, live or dead, ours or Kafka's."""
    from os.path import abspath

    from cordwood.core.system import SystemClock, SystemFiles
    from cordwood.workbench.partition import open_partition

    where = abspath(path)  # noqa: PTH100  # keeps links: the checkpoints lie beside the name given
    return open_partition(SystemFiles(), where, clock=SystemClock())


def open_directory(path: "str | PathLike[str]") -> "Iterator[PartitionView]":
    """Return an iterator over such views of every partition of a log directory."""
    from os.path import abspath

    from cordwood.core.system import SystemClock, SystemFiles
    from cordwood.workbench.partition import open_partitions

    where = abspath(path)  # noqa: PTH100  # keeps links: the checkpoints lie beside the name given
    return open_partitions(SystemFiles(), where, clock=SystemClock())


def __getattr__(name: str) -> object:
    """The module of a public name is imported when the name is first asked for."""
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)

    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name, resolved or not."""
    return sorted(__all__)
