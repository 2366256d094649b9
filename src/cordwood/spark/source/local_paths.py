"""Absolute local paths of the paths in Spark options.

The working directory of a task differs from the driver's, so tasks receive absolute paths. The
address of an object store is rejected, because it would be read as the name of a folder.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cordwood.core.errors import SettingError
from cordwood.spark.source.source_options import SourceOptions, parse_options

_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://")


def parse_local_options(given: Mapping[str, str]) -> SourceOptions:
    """Return the value of Spark's options, with `path` and `refillPath` as absolute paths."""
    return with_local_paths(parse_options(given))


def with_local_paths(options: SourceOptions) -> SourceOptions:
    """Return options with `path` and `refillPath` as absolute paths."""
    refill = options.refill_path
    return replace(
        options,
        paths=tuple(local_path(each, key="path") for each in options.paths),
        refill_path=None if refill is None else local_path(refill, key="refillPath"),
    )


def local_path(text: str, *, key: str) -> str:
    """Return a path, or an address that begins with `file:`, as an absolute path.

    Raise SettingError for the address of an object store; `key` is the option.
    """
    if _ELSEWHERE.match(text):
        raise SettingError(
            f"{key}: {text} is not a local path", key=key, remedy="mount it and give the mount path"
        )
    path = re.sub(r"^//(?=/)", "", text.removeprefix("file:")) if text[:5] == "file:" else text
    return str(Path(path).absolute())
