"""A Kafka-compatible log in Python. The public names live here and are resolved on first use.

Importing this package costs a few milliseconds: a name's module is imported when the name is first
asked for, so that `import cordwood` brings in no numpy, no pyarrow and no asyncio.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cordwood.core.errors import CordwoodError
    from cordwood.records.batch import RecordBatch
    from cordwood.records.builder import BatchBuilder
    from cordwood.records.columns import read_columns
    from cordwood.records.compression import Codec
    from cordwood.records.legacy import LegacyBatch
    from cordwood.records.record import Record, TimestampType
    from cordwood.records.stream import batches

__version__ = "0.1.0"

__all__ = (
    "BatchBuilder",
    "Codec",
    "CordwoodError",
    "LegacyBatch",
    "Record",
    "RecordBatch",
    "TimestampType",
    "__version__",
    "batches",
    "read_columns",
)

_HOMES = {
    "BatchBuilder": "cordwood.records.builder",
    "Codec": "cordwood.records.compression",
    "CordwoodError": "cordwood.core.errors",
    "LegacyBatch": "cordwood.records.legacy",
    "Record": "cordwood.records.record",
    "RecordBatch": "cordwood.records.batch",
    "TimestampType": "cordwood.records.record",
    "batches": "cordwood.records.stream",
    "read_columns": "cordwood.records.columns",
}


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
