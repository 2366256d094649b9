"""Arguments of `read`, `scan` and the jobs, as options of Spark: `(spark, path, **options)`.

    path       a path, or a list of paths: log directories or partition directories
    options    texts; also numbers, booleans, and lists or mappings, which become the text that the
               option has: `columns=["key", "value"]`, `assign={"orders": [0, 1]}`

Paths become absolute in the process of the program. The server of Spark Connect, and the tasks,
have other working directories.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.local_path import local_path

#: A path of an argument, or several.
PathArgument: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
#: The folder of a table.
FolderArgument: TypeAlias = str | os.PathLike[str]
#: The value of an option.
OptionArgument: TypeAlias = str | int | Sequence[str] | Mapping[str, object]

_PATH: tuple[str, ...] = ("path", "paths")


def spark_options(
    path: PathArgument | None, options: Mapping[str, OptionArgument | None]
) -> dict[str, str]:
    """Return the options of a call as texts, with absolute paths; None leaves an option out.

    Raise SettingError if both `path` and an option name paths, or for an address elsewhere.
    """
    texts = {name: option_text(name, value) for name, value in options.items() if value is not None}
    given = [name for name in texts if name.lower() in _PATH]
    if path is not None and given:
        raise SettingError(
            f"{given[0]} is given twice", key=given[0], remedy="keep the argument or the option"
        )
    if path is None:
        return {name: _absolute(name, text) for name, text in texts.items()}
    if isinstance(path, str | os.PathLike):
        return {**texts, "path": local_path(os.fspath(path), key="path")}
    paths = [local_path(os.fspath(each), key="path") for each in path]
    return {**texts, "paths": json.dumps(paths)}


def job_options(
    path: PathArgument | Mapping[str, OptionArgument | None] | None,
    others: Mapping[str, OptionArgument | None],
    *,
    options: Mapping[str, OptionArgument | None] | None = None,
    place: tuple[str, FolderArgument | None] | None = None,
) -> dict[str, str]:
    """Return the options of a job; `place` is the option that names its table, and its value.

    All options may be in one mapping, as in earlier versions: in the place of the path, or as
    `options`, after the table in the place of the path.
    """
    if isinstance(path, Mapping):
        options, path = {**path, **(options or {})}, None
    table = {} if place is None else {place[0]: place[1]}
    if place is not None and place[1] is None and isinstance(path, str | os.PathLike) and options:
        path, table = None, {place[0]: path}
    named = {name: os.fspath(value) for name, value in table.items() if value is not None}
    return spark_options(path, {**(options or {}), **others, **named})


def path_list(paths: PathArgument) -> list[str]:
    """Return absolute paths; a single path becomes a list of one."""
    listed = [paths] if isinstance(paths, str | os.PathLike) else paths
    return [local_path(os.fspath(each), key="path") for each in listed]


def option_text(name: str, value: object) -> str:
    """Return the text of an option: JSON of a mapping, and items of a list with commas."""
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, int):
        return str(value).lower()
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return json.dumps(value) if name.lower() == "paths" else ",".join(value)
    raise SettingError(
        f"{name}: invalid value {value!r}",
        key=name,
        remedy="use a text, a number, a boolean, a list of texts, or a mapping",
    )


def _absolute(name: str, text: str) -> str:
    """Return an option with an absolute path, if it is a path; the source parses other texts."""
    return local_path(text, key=name) if name.lower() == "path" and text else text
