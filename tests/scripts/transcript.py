"""Transcripts: commands with their outcomes in a text file (Go: `cockroachdb/datadriven`).

    # A comment explains the surprising outcome.
    append size=100 records=2       a command: a name, words, and name=value arguments
    input                           further lines are the command's input
    ----
    offsets 0-1                     the outcome, up to a blank line

A command is a public method of the family's class; `-` and `.` in names stand for `_`. Words fill
the positional parameters, arguments the keyword-only ones, and annotations convert both. A
parameter named `lines` receives the input. A Kafka error is an outcome; every other error, and a
command that cannot be bound, fails the script.
"""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from cordwood.core.errors import ERRORS_BY_CODE, KafkaError

SEPARATOR: Final = "----"
COMMENT: Final = "#"
NO_OUTCOME: Final = "ok"

Value: TypeAlias = str | int | bool
Command: TypeAlias = Callable[..., str | None]

_BOOLEANS: Final[Mapping[str, bool]] = {"true": True, "false": False}
_UNITS_MS: Final[Mapping[str, int]] = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
#: Kafka's error name ends in ERROR, which class names here do anyway.
_ERROR_NAMES: Final[Mapping[int, str]] = {106: "FETCH_SESSION_TOPIC_ID_ERROR"}


class ScriptError(Exception):
    """A line of a script that is not valid: unknown command or argument, wrong value or shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A command with its input; the outcome is `lines[start:end]` of the script."""

    line: int
    name: str
    words: tuple[str, ...]
    arguments: Mapping[str, str]
    input: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed transcript."""

    name: str
    lines: tuple[str, ...]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    def with_outcomes(self, outcomes: Iterable[str]) -> str:
        """Return the text of the script with other outcomes."""
        lines, copied = list[str](), 0
        for block, outcome in zip(self.blocks, outcomes, strict=True):
            lines += self.lines[copied : block.start]
            lines += outcome.splitlines()
            copied = block.end
        lines += self.lines[copied:]
        return "".join(f"{line}\n" for line in lines)


def parse(text: str, *, name: str) -> Script:
    """Return the blocks of a script; `name` is the file in errors."""
    lines = tuple(text.splitlines())
    blocks, at = [], 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith(COMMENT):
            at += 1
            continue
        block = _parse_block(lines, at, name=name)
        blocks.append(block)
        at = block.end
    return Script(name, lines, tuple(blocks))


def _parse_block(lines: tuple[str, ...], at: int, *, name: str) -> Block:
    where = f"{name}:{at + 1}"
    separator = at + 1
    while separator < len(lines) and lines[separator].strip() not in {"", SEPARATOR}:
        separator += 1
    if separator == len(lines) or not lines[separator].strip():
        raise ScriptError(f"{where}: no {SEPARATOR} follows the command")
    end = separator + 1
    while end < len(lines) and lines[end].strip():
        end += 1
    command, *rest = lines[at].split()
    arguments = dict[str, str]()
    for each in rest:
        key, is_argument, value = each.partition("=")
        if is_argument and key in arguments:
            raise ScriptError(f"{where}: {key} is given twice")
        if is_argument:
            arguments[_identifier(key)] = value
    return Block(
        line=at + 1,
        name=_identifier(command),
        words=tuple(each for each in rest if "=" not in each),
        arguments=arguments,
        input=lines[at + 1 : separator],
        start=separator + 1,
        end=end,
    )


def _identifier(text: str) -> str:
    return re.sub(r"[-.]", "_", text)


def run(script: Script, family: object) -> list[str]:
    """Run all commands on the family's object, and return their outcomes."""
    return [_run_block(block, family, f"{script.name}:{block.line}") for block in script.blocks]


def _run_block(block: Block, family: object, where: str) -> str:
    try:
        command = _command(block, family)
        words, arguments = _bind(block, command)
    except ScriptError as error:
        raise ScriptError(f"{where}: {error}") from error
    try:
        outcome = command(*words, **arguments) or NO_OUTCOME
    except KafkaError as error:
        outcome = f"error {error_name(error)}"
    except Exception as error:
        error.add_note(f"{where}: {block.name}")
        raise
    if not all(line.strip() for line in outcome.splitlines()):
        raise ScriptError(f"{where}: the outcome has a blank line")
    return outcome


def _command(block: Block, family: object) -> Command:
    command = None if block.name.startswith("_") else getattr(family, block.name, None)
    if not inspect.ismethod(command):
        raise ScriptError(f"unknown command {block.name}")
    found: Command = command
    return found


def _bind(block: Block, command: Command) -> tuple[list[Value], dict[str, Value | tuple[str, ...]]]:
    """Return the arguments of a call, converted to the parameters' types."""
    signature = inspect.signature(command)
    kinds = inspect.Parameter
    positional = [each for each in signature.parameters.values() if each.kind in _POSITIONAL]
    more = next((each for each in positional if each.kind is kinds.VAR_POSITIONAL), None)
    has_any = any(each.kind is kinds.VAR_KEYWORD for each in signature.parameters.values())
    words = list[Value]()
    for number, word in enumerate(block.words):
        parameter = positional[number] if number < len(positional) else more
        if parameter is None:
            raise ScriptError(f"unexpected word {word}")
        words.append(_convert(word, parameter))
    arguments = dict[str, Value | tuple[str, ...]]()
    for key, value in block.arguments.items():
        found = signature.parameters.get(key)
        if found is not None and found.kind is kinds.KEYWORD_ONLY:
            arguments[key] = _convert(value, found)
        elif has_any:
            arguments[key] = value
        else:
            raise ScriptError(f"unknown argument {key}")
    if "lines" in signature.parameters:
        arguments["lines"] = block.input
    elif block.input:
        raise ScriptError(f"{block.name} takes no input")
    try:
        signature.bind(*words, **arguments)
    except TypeError as error:
        raise ScriptError(f"{block.name}: {error}") from error
    return words, arguments


_POSITIONAL: Final = frozenset(
    {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
)


def _convert(text: str, parameter: inspect.Parameter) -> Value:
    try:
        if parameter.annotation is bool:
            return _BOOLEANS[text]
        if parameter.annotation is int:
            return duration_ms(text)
    except (KeyError, ValueError) as error:
        raise ScriptError(f"{parameter.name} cannot be {text}") from error
    return text


def duration_ms(text: str) -> int:
    """Return a whole number, or a duration such as `90s` or `2h` in milliseconds."""
    found = re.fullmatch(r"(-?[0-9]+)(ms|s|m|h|d)?", text)
    if found is None:
        raise ValueError(f"{text} is neither a number nor a duration")
    return int(found[1]) * _UNITS_MS[found[2] or "ms"]


def error_name(error: KafkaError) -> str:
    """Return Kafka's name of an error, and its code."""
    named = ERRORS_BY_CODE.get(error.code, type(error)).__name__
    words = re.findall(r"[A-Z][a-z]+", named.removesuffix("Error"))
    name = _ERROR_NAMES.get(error.code, "_".join(words).upper())
    return f"{name} ({error.code})"


def check(path: Path, family: Callable[[], object], *, is_rewriting: bool = False) -> None:
    """Run a script on a new object of its family; fail with a diff if an outcome differs.

    When rewriting, write the outcomes into the file instead, and check that they are repeatable.
    """
    script = parse(path.read_text(encoding="utf-8"), name=path.name)
    if not script.blocks:
        raise ScriptError(f"{path.name}: no commands")
    text = script.with_outcomes(_run_on_new(script, family))
    if is_rewriting:
        path.write_text(text, encoding="utf-8")
        script = parse(text, name=path.name)
        text = script.with_outcomes(_run_on_new(script, family))
    if text != script.text:
        raise AssertionError(_difference(script, text))


def _run_on_new(script: Script, family: Callable[[], object]) -> list[str]:
    """Run all commands on a new object, and call its `close` afterwards, if it has one."""
    made = family()
    try:
        return run(script, made)
    finally:
        close = getattr(made, "close", None)
        if close is not None:
            close()


def _difference(script: Script, text: str) -> str:
    """Return a diff that starts with the file and the line of the first difference."""
    found = text.splitlines()
    pairs = zip(script.lines, found, strict=False)
    shared = min(len(script.lines), len(found))
    first = next((number for number, (a, b) in enumerate(pairs) if a != b), shared)
    diff = difflib.unified_diff(script.lines, found, "expected", "printed", lineterm="", n=4)
    return "\n".join((f"{script.name}:{first + 1}: the outcome differs", *diff))
