"""Every error that a user can catch (docs/errors.md), by one import.

    from cordwood.errors import CordwoodError, UnknownTopicOrPartitionError

`except CordwoodError` catches all of them, apart from FaultNotMetError, which fails a test.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from cordwood.core import errors as _tree
from cordwood.core.errors import *  # noqa: F403  # the names are those of its `__all__`

if TYPE_CHECKING:
    from cordwood.spark.formats.schema_source import UnknownSchemaError
    from cordwood.testing.broker_faults import FaultNotMetError

#: Errors of packages that most programs do not load.
_HOMES = {
    "FaultNotMetError": "cordwood.testing.broker_faults",
    "UnknownSchemaError": "cordwood.spark.formats.schema_source",
}

__all__ = ["FaultNotMetError", "UnknownSchemaError"]
__all__ += _tree.__all__


def __getattr__(name: str) -> object:
    """Import the module of an error on first access."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return every public name."""
    return sorted(__all__)
