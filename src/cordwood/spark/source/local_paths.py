"""Absolute local paths of the paths in Spark options.

The working directory of a task differs from the driver's, so tasks receive absolute paths. The
address of an object store is rejected, except for `gapTable`: logs are read from local disks, and
a table is written through Arrow.
"""

from collections.abc import Mapping
from dataclasses import replace

from cordwood.spark.runtime.local_path import find_local_path, local_path
from cordwood.spark.source.source_options import SourceOptions, parse_options


def parse_local_options(given: Mapping[str, str]) -> SourceOptions:
    """Return the value of Spark's options, with absolute paths."""
    return with_local_paths(parse_options(given))


def with_local_paths(options: SourceOptions) -> SourceOptions:
    """Return options with `path`, `refillPath` and `gapTable` as absolute paths."""
    refill, table = options.refill_path, options.gap_table
    is_local_table = table is not None and find_local_path(table) is not None
    return replace(
        options,
        paths=tuple(local_path(each, key="path") for each in options.paths),
        refill_path=None if refill is None else local_path(refill, key="refillPath"),
        gap_table=local_path(table, key="gapTable") if table and is_local_table else table,
    )
