"""NAME=VALUE, as options take it again and again."""

from collections.abc import Iterable

import typer


def pair_in(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE")
    return name, value


def pairs_in(texts: Iterable[str] | None) -> dict[str, str]:
    """Read all of them; the last of a name counts."""
    return dict(map(pair_in, texts or ()))
