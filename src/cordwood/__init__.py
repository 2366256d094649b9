"""A Kafka-compatible log in Python. The public names live here and are resolved on first use.

Importing this package costs a few milliseconds: a name's module is imported when the name is first
asked for, so that `import cordwood` brings in no numpy, no pyarrow and no asyncio. The functions
that open something put it on the files of this machine.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from cordwood.client import aio
    from cordwood.client.blocking import Admin, Consumer, Producer
    from cordwood.client.record_set import ConsumedRecord
    from cordwood.client.serializers import Deserializers, Serializers
    from cordwood.core.errors import CordwoodError
    from cordwood.core.types import TopicPartition
    from cordwood.core.version import __version__
    from cordwood.embedded import Broker
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

__all__ = (
    "Admin",
    "BatchBuilder",
    "BatchFields",
    "Broker",
    "Codec",
    "ConsumedRecord",
    "Consumer",
    "CordwoodError",
    "Deserializers",
    "LegacyBatch",
    "PartitionView",
    "Producer",
    "Record",
    "RecordBatch",
    "Request",
    "Selection",
    "Serializers",
    "TimestampType",
    "TopicPartition",
    "__version__",
    "aio",
    "batches",
    "decoder",
    "open_directory",
    "open_log",
    "read_columns",
    "read_table",
    "warm",
)

_HOMES = {
    "Admin": "cordwood.client.blocking",
    "BatchBuilder": "cordwood.records.builder",
    "BatchFields": "cordwood.records.builder",
    "Broker": "cordwood.embedded",
    "Codec": "cordwood.records.compression",
    "ConsumedRecord": "cordwood.client.record_set",
    "Consumer": "cordwood.client.blocking",
    "CordwoodError": "cordwood.core.errors",
    "Deserializers": "cordwood.client.serializers",
    "LegacyBatch": "cordwood.records.legacy",
    "PartitionView": "cordwood.workbench.partition",
    "Producer": "cordwood.client.blocking",
    "Record": "cordwood.records.record",
    "RecordBatch": "cordwood.records.batch",
    "Request": "cordwood.records.chunk",
    "Selection": "cordwood.records.chunk",
    "Serializers": "cordwood.client.serializers",
    "TimestampType": "cordwood.records.record",
    "TopicPartition": "cordwood.core.types",
    "__version__": "cordwood.core.version",
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
    if name == "aio":
        from cordwood.client import aio

        return aio
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
