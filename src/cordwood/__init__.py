"""A Kafka-compatible log in Python: the public names, resolved on first use.

An import of this package takes a few milliseconds. The module of a name is imported when the name
is first accessed, so that `import cordwood` does not load numpy, pyarrow or asyncio. Functions that
open a path use this machine's file system.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from cordwood import aio, errors
    from cordwood.client.blocking import Admin, Consumer, Producer
    from cordwood.client.consumer.completed_fetch import ConsumedRecord
    from cordwood.client.group_offset import GroupMetadata, GroupOffset
    from cordwood.client.serializers import Deserializers, Serializers
    from cordwood.core.errors import CordwoodError
    from cordwood.core.types import TopicPartition
    from cordwood.core.version import __version__
    from cordwood.embedded import Broker
    from cordwood.records.batch_builder import BatchBuilder, BatchFields
    from cordwood.records.batch_stream import batches
    from cordwood.records.columns import read_columns, read_table
    from cordwood.records.compression import Codec
    from cordwood.records.decoder import ReadRequest, Selection
    from cordwood.records.kernels import decoder
    from cordwood.records.legacy_batch import LegacyBatch
    from cordwood.records.record import Record, TimestampType
    from cordwood.records.record_batch import RecordBatch
    from cordwood.workbench.partition_view import PartitionView

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
    "GroupMetadata",
    "GroupOffset",
    "LegacyBatch",
    "PartitionView",
    "Producer",
    "ReadRequest",
    "Record",
    "RecordBatch",
    "Selection",
    "Serializers",
    "TimestampType",
    "TopicPartition",
    "__version__",
    "aio",
    "batches",
    "decoder",
    "errors",
    "open_directory",
    "open_log",
    "read_columns",
    "read_table",
)

#: Modules that are names of this package without an import of their own.
_MODULES = {"aio", "errors"}

_HOMES = {
    "Admin": "cordwood.client.blocking",
    "BatchBuilder": "cordwood.records.batch_builder",
    "BatchFields": "cordwood.records.batch_builder",
    "Broker": "cordwood.embedded",
    "Codec": "cordwood.records.compression",
    "ConsumedRecord": "cordwood.client.consumer.completed_fetch",
    "Consumer": "cordwood.client.blocking",
    "CordwoodError": "cordwood.core.errors",
    "Deserializers": "cordwood.client.serializers",
    "GroupMetadata": "cordwood.client.group_offset",
    "GroupOffset": "cordwood.client.group_offset",
    "LegacyBatch": "cordwood.records.legacy_batch",
    "PartitionView": "cordwood.workbench.partition_view",
    "Producer": "cordwood.client.blocking",
    "Record": "cordwood.records.record",
    "RecordBatch": "cordwood.records.record_batch",
    "ReadRequest": "cordwood.records.decoder",
    "Selection": "cordwood.records.decoder",
    "Serializers": "cordwood.client.serializers",
    "TimestampType": "cordwood.records.record",
    "TopicPartition": "cordwood.core.types",
    "__version__": "cordwood.core.version",
    "batches": "cordwood.records.batch_stream",
    "decoder": "cordwood.records.kernels",
    "read_columns": "cordwood.records.columns",
    "read_table": "cordwood.records.columns",
}


def open_log(path: "str | PathLike[str]") -> "PartitionView":
    """Return a read-only view of a partition's directory of Cordwood or of Kafka, in use or not."""
    from os.path import abspath

    from cordwood.core.system import SystemClock, SystemFiles
    from cordwood.workbench.partition_view import open_partition

    where = abspath(path)  # noqa: PTH100  # keeps links: the checkpoints are next to the given name
    return open_partition(SystemFiles(), where, clock=SystemClock())


def open_directory(path: "str | PathLike[str]") -> "Iterator[PartitionView]":
    """Return an iterator over the views of all partitions in a log directory."""
    from os.path import abspath

    from cordwood.core.system import SystemClock, SystemFiles
    from cordwood.workbench.partition_view import open_partitions

    where = abspath(path)  # noqa: PTH100  # keeps links: the checkpoints are next to the given name
    return open_partitions(SystemFiles(), where, clock=SystemClock())


def __getattr__(name: str) -> object:
    """Import the module of a public name on first access."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return every public name."""
    return sorted(__all__)
