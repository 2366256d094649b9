"""Signatures and lists of options of the clients, built from the declarations of their settings.

A client takes its options as `**options`, typed by a TypedDict. `help` would show that word alone,
so `named_options` shows each option with its type, its default and its meaning.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields
from inspect import Parameter, cleandoc, signature
from textwrap import wrap
from typing import Final, TypeVar

from cordwood.client.settings import ClientSettings, attribute_of, settings_in
from cordwood.core.settings import Setting

C = TypeVar("C")

_HEADING: Final = "Options, which are Kafka's settings with underscores for dots:"
_WIDTH: Final = 84
_INDENT: Final = "        "
#: A port for tests.
_UNDOCUMENTED: Final = {"runtime"}


def named_options(kind: type[ClientSettings]) -> Callable[[type[C]], type[C]]:
    """Return a class decorator that names the options of a client in its signature and help."""

    def decorate(client: type[C]) -> type[C]:
        construct: object = vars(client)["__init__"]
        assert callable(construct), "every client has a constructor"
        shown = signature(construct)
        own = [each for each in shown.parameters.values() if _is_documented(each)]
        parameters = [*own, *_parameters(kind)]
        setattr(construct, "__signature__", shown.replace(parameters=parameters))  # noqa: B010  # no attribute of functions for mypy
        text = "\n".join([cleandoc(construct.__doc__ or ""), "", _HEADING, *_lines(kind)])
        construct.__doc__ = text.lstrip()
        return client

    return decorate


def _is_documented(parameter: Parameter) -> bool:
    return parameter.kind is not Parameter.VAR_KEYWORD and parameter.name not in _UNDOCUMENTED


def _parameters(kind: type[ClientSettings]) -> Iterator[Parameter]:
    types = {each.name: each.type for each in fields(kind)}
    for setting in settings_in(kind):
        name = attribute_of(setting.name)
        yield Parameter(
            name, Parameter.KEYWORD_ONLY, default=setting.default, annotation=types[name]
        )


def _lines(kind: type[ClientSettings]) -> Iterator[str]:
    for setting in settings_in(kind):
        yield ""
        yield f"    {attribute_of(setting.name)} (default: {default_of(setting)})"
        yield from (f"{_INDENT}{line}" for line in wrap(meaning_of(setting), _WIDTH))


def default_of(setting: Setting) -> str:
    """Return the default of an option as a Python value."""
    return repr(setting.default)


def meaning_of(setting: Setting) -> str:
    """Return the meaning of an option, with the values that it takes if they are words."""
    if not setting.one_of:
        return setting.doc
    return f"{setting.doc} One of {', '.join(setting.one_of)}."
