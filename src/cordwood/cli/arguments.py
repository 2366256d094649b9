"""Values of the command line: absolute paths, and `NAME=VALUE` pairs.

A broker starts without typer, so this module imports it only where it raises its error.
"""

from collections.abc import Iterable
from pathlib import Path

from cordwood.core.errors import SettingError


def absolute_path(typed: str) -> str:
    """Return a typed path as an absolute one.

    A link keeps its own name: the name identifies the partition, and the checkpoints are in the
    folder of the link. Only a path with `..` is resolved. An empty path is an error, since an unset
    shell variable produces one.
    """
    if not typed:
        raise SettingError("path: is empty", key="path", remedy="name a file or directory")
    path = Path(typed)
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
