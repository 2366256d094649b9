"""Random help texts, errors and docstrings of the product, for a reader to judge.

    python -m scripts.text_sample [SEED [COUNT]]      by default 15 and 30 of each

The same seed draws the same texts from the same tree.
"""

import ast
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from cordwood.cli.program import FAMILIES, application

SOURCES = Path(__file__).parent.parent / "src"
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def main(seed: int = 15, count: int = 30) -> None:
    """Print the samples."""
    chance = random.Random(seed)
    kinds = {"help": help_texts(), "errors": errors(), "docstrings": docstrings()}
    for kind, texts in kinds.items():
        print(f"{kind}:")
        for text in chance.sample(sorted(set(texts)), count):
            print(f"- {text}")


def help_texts() -> Iterator[str]:
    """Yield the help of each command and of each option."""
    commands = [("cordwood", get_command(application([family]))) for family in FAMILIES]
    while commands:
        name, command = commands.pop()
        yield f"{name}: {_first_paragraph(command.help or '')}"
        for parameter in command.params:
            if text := getattr(parameter, "help", None):
                yield f"{name} {parameter.opts[0]}: {_first_paragraph(text)}"
        below = getattr(command, "commands", {})
        commands += [(f"{name} {key}", each) for key, each in below.items()]


def errors() -> Iterator[str]:
    """Yield each raised message, with its expressions in braces."""
    for path, tree in _trees():
        raised = (node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise))
        for error in (each for each in raised if isinstance(each, ast.Call)):
            parts = [_text(each) for each in (*error.args, *(at.value for at in error.keywords))]
            if any(" " in part for part in parts):
                yield f"{path}: {ast.unparse(error.func)}({'; '.join(filter(None, parts))})"


def docstrings() -> Iterator[str]:
    """Yield the first paragraph of each docstring."""
    for path, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, Documented) and (text := ast.get_docstring(node)):
                name = "" if isinstance(node, ast.Module) else f" {node.name}"
                yield f"{path}{name}: {_first_paragraph(text)}"


def _trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCES.rglob("*.py")):
        yield path.relative_to(SOURCES / "cordwood").as_posix(), ast.parse(path.read_text())


def _text(value: ast.expr) -> str:
    """Return the text of a string literal or an f-string; empty for other expressions."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.JoinedStr):
        return ast.unparse(value)[2:-1]
    return ""


def _first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
