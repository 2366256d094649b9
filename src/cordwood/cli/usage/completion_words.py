"""Words with which a shell can complete a command line: commands, options and choices.

Only the command that is named is built. An empty answer leaves the word to the shell, which
completes the names of files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from typer.core import TyperArgument, TyperGroup, TyperOption

from cordwood.cli.plain_values import Command, Parameter

_HELP = "Show the help."
_EQUALS = "="  # bash makes it a word of its own


class Suggestion(NamedTuple):
    """A word, and a line that explains it."""

    word: str
    help: str = ""


def suggest(
    words: Sequence[str],
    *,
    families: Mapping[str, str],
    options: Mapping[str, Sequence[str]],
    build: Callable[[str], Command],
) -> list[Suggestion]:
    """Return what may stand for the last word, which is incomplete.

    `families` are the commands with their help, `options` those of commands that typer does not
    build, and `build` builds one of the others.
    """
    *before, incomplete = [each for each in words if each != _EQUALS] or [""]
    if not before:
        found = [Suggestion(*each) for each in families.items()]
        found += [Suggestion("--help", _HELP), Suggestion("--version", "Print the version.")]
    elif before[0] in options:
        found = [Suggestion(each) for each in options[before[0]]]
    elif before[0] in families:
        found = list(_of_command(build(before[0]), before[1:], incomplete))
    else:
        found = []
    wanted = [each for each in found if each.word.startswith(incomplete)]
    # A command has many options, so they are offered only after a dash.
    return [each for each in wanted if incomplete or not each.word.startswith("-")]


def _of_command(command: Command, words: Sequence[str], incomplete: str) -> Iterator[Suggestion]:
    """Yield what may follow the words of a command."""
    for word in words:
        if isinstance(command, TyperGroup):
            inner = command.commands.get(word)
            if not isinstance(inner, Command):
                return
            command = inner
    if isinstance(command, TyperGroup):
        yield from _verbs(command)
    awaiting = _option_with_value(command, words[-1] if words else "")
    if awaiting is not None:
        yield from map(Suggestion, _choices(awaiting))
        return
    for param in command.params:
        if isinstance(param, TyperArgument):
            yield from map(Suggestion, _choices(param))
        elif isinstance(param, TyperOption) and incomplete.startswith("-"):
            yield Suggestion(max(param.opts, key=len), _first_line(param.help))
    yield Suggestion("--help", _HELP)


def _verbs(command: TyperGroup) -> Iterator[Suggestion]:
    for name, each in command.commands.items():
        if not each.hidden:
            yield Suggestion(name, _first_line(each.help))


def _option_with_value(command: Command, word: str) -> TyperOption | None:
    """Return the option whose value comes next."""
    for param in command.params:
        if isinstance(param, TyperOption) and word in param.opts and not param.is_flag:
            return param
    return None


def _choices(param: Parameter) -> list[str]:
    return [str(getattr(each, "value", each)) for each in param.type_descriptor.choices or ()]


def _first_line(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())
