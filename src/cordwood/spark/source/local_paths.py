"""Absolute local paths of the paths in Spark options.

The working directory of a task differs from the driver's, so tasks receive absolute paths. The
address of an object store is rejected, because it would be read as the name of a folder.
"""

from collections.abc import Mapping
from dataclasses import replace

from cordwood.spark.runtime.local_path import local_path
from cordwood.spark.source.source_options import SourceOptions, parse_options


def parse_local_options(given: Mapping[str, str]) -> SourceOptions:
    """Return the value of Spark's options, with absolute paths."""
    return with_local_paths(parse_options(given))


def with_local_paths(options: SourceOptions) -> SourceOptions:
    """Return options with `path` and `refillPath` as absolute paths."""
    refill = options.refill_path
    return replace(
        options,
        paths=tuple(local_path(each, key="path") for each in options.paths),
        refill_path=None if refill is None else local_path(refill, key="refillPath"),
    )
