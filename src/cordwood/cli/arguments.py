"""Values of the command line: absolute paths, and `NAME=VALUE` pairs.

A broker starts without typer, so this module imports it only where it raises its error.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from cordwood.core.errors import SettingError

_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


def absolute_path(typed: str) -> str:
    """Return a typed path as an absolute one.

    A link keeps its own name: the name identifies the partition, and the checkpoints are in the
    folder of the link. Only a path with `..` is resolved. An empty path is an error, since an unset
    shell variable produces one, and so is the address of an object store: it would name a folder
    in the working directory.
    """
    if not typed:
        raise SettingError("path: is empty", key="path", remedy="name a file or directory")
    address = _ADDRESS.fullmatch(typed)
    if address is not None and address[1] != "file":
        raise SettingError(
            f"path: {typed} is not a local path", key="path", remedy="mount it and give that path"
        )
    path = Path(typed if address is None else address[2])
    return str(path.resolve() if ".." in path.parts else path.absolute())


def parse_pair(text: str) -> tuple[str, str]:
    """Parse `NAME=VALUE`; the value may contain `=`."""
    name, equals, value = text.partition("=")
    if not equals:
        import typer  # noqa: PLC0415  # serve runs without it

        raise typer.BadParameter(f"{text!r} is not NAME=VALUE")
    return name, value


def parse_pairs(texts: Iterable[str] | None) -> dict[str, str]:
    """Parse several pairs; the last value of a name wins."""
    return dict(map(parse_pair, texts or ()))
