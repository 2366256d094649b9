"""Prose rules of the house (`CONTRIBUTING.md`): the half of them that a program can check.

    python scripts/prose.py [PATH...]      findings in these files and folders, by default all

Docstrings, comments and Markdown are read sentence by sentence. Other string literals (help,
errors, log lines) are searched for banned words only.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

#: A sentence of more words than this is two sentences.
SENTENCE_WORDS = 35
#: The rules and their planted violations quote what they forbid.
#: The words themselves, and a table of what commands printed.
EXEMPT = {"docs/damage.md", "scripts/prose.py", "tests/test_prose.py"}
#: Shorter literals are keys, names and formats.
LITERAL_WORDS = 4

#: Banned words with their replacements.
BANNED = {
    r"anew": "again",
    r"be it|be they": "whether",
    r"beside": "next to, or compared with",
    r"heard|hears?": "receives",
    r"no more(?! than)": "no longer",
    r"nobody": "name the thing: no client, no reader",
    r"of which it": "name the subject",
    r"so many": "N",
    r"tells?|told": "notifies, reports, returns",
    r"says?|said": "states, contains, returns",
    r"believes?|believed": "assumes",
    r"those who|he who|for who": "name the role",
    r"whoever|whatever|whomever": "the caller, any",
    r"(?<!there )(?:is|are) no(?! longer)": "is not a",
}
BANNED_WORDS = re.compile(
    r"(?<![\w`./-])(" + "|".join(f"(?:{each})" for each in BANNED) + r")(?![\w`/-])", re.IGNORECASE
)
#: No sentence begins with these, unless it is a question.
OPENINGS = re.compile(r"(What|Who|Whoever|Whatever|Whose|Whom|Those who|Nobody|Nothing)\b")
#: A module docstring opens with a noun phrase.
INDIRECT_QUESTIONS = re.compile(r"(How|Where|Which|When|Whether|Why|What|Who|Whose)\b")

_CODE = re.compile(r"```.*?```|``.*?``|`[^`]*`", re.DOTALL)
_LINK = re.compile(r"\]\([^)]*\)")
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\")*]*\s+(?=[\"(]*[A-Z`_])|(?<=:)\s*\n\s*\n|\n\s*\n|\n(?=- |\d+\. )"
)
_ROW = re.compile(r"\s*\S+(?: \S+)?\s{2,}\S")
_WORD = re.compile(r"[A-Za-z][\w'-]*")


class Finding(NamedTuple):
    """One sentence that breaks a rule, and its line."""

    line: int
    text: str


def check_python(text: str, *, path: str) -> Iterator[Finding]:
    """Yield the findings in a Python file."""
    tree = ast.parse(text, path)
    documented: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                documented.add(id(first.value))
                is_module = isinstance(node, ast.Module)
                yield from _docstring(first.value, is_module=is_module)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if id(node) not in documented and len(node.value.split()) >= LITERAL_WORDS:
            yield from _banned(_CODE.sub("CODE", node.value), line=node.lineno)
    yield from _comments(text)


def _docstring(node: ast.Constant, *, is_module: bool) -> Iterator[Finding]:
    if not isinstance(node.value, str):
        return
    text = node.value
    is_direct = text.lstrip().split("\n\n")[0].endswith("?")
    if is_module and INDIRECT_QUESTIONS.match(text.lstrip()) and not is_direct:
        yield Finding(node.lineno, f"a module opens with a noun phrase: {_short(text)}")
    yield from check_prose(_without_tables(text), line=node.lineno)


def _comments(text: str) -> Iterator[Finding]:
    block: list[str] = []
    start = last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        row = token.start[0]
        is_alone = token.line.lstrip().startswith("#")
        if block and (row != last + 1 or not is_alone):
            yield from check_prose("\n".join(block), line=start)
            block = []
        if not block:
            start = row
        last = row
        block.append(token.string.lstrip("#: "))
    if block:
        yield from check_prose("\n".join(block), line=start)


def check_markdown(text: str) -> Iterator[Finding]:
    """Yield the findings in a Markdown page; code blocks are left out."""
    kept = re.sub(r"```.*?```", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for start, block in _blocks(kept):
        yield from check_prose(block, line=start)


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield paragraphs, list items, headings and table cells with their lines."""
    block: list[str] = []
    start = 1
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("|"):
            yield from ((number, cell.strip()) for cell in bare.strip("|").split("|"))
            bare = ""
        opens = re.match(r"[-*#]|\d+\.", bare)
        if block and (not bare or opens):
            yield start, "\n".join(block)
            block = []
        if bare:
            if not block:
                start = number
            block.append(re.sub(r"^(?:[-*#]+|\d+\.)\s+", "", bare))
        if bare.startswith("#"):
            yield start, block.pop()
    if block:
        yield start, "\n".join(block)


def check_prose(text: str, *, line: int) -> Iterator[Finding]:
    """Yield the findings in running text that begins on the line."""
    bare = _LINK.sub("]", _CODE.sub("CODE", text))
    for sentence in _SENTENCE_END.split(bare):
        words = sentence.strip().lstrip("\"'(*_[")
        if OPENINGS.match(words) and not words.rstrip("\"')*_").endswith("?"):
            yield Finding(line, f"begins with {words.split()[0]}: {_short(words)}")
        count = len(_WORD.findall(words))
        if count > SENTENCE_WORDS:
            yield Finding(line, f"{count} words in a sentence: {_short(words)}")
        yield from _banned(words, line=line)


def _banned(text: str, *, line: int) -> Iterator[Finding]:
    for found in BANNED_WORDS.finditer(text):
        word = found[0].lower()
        better = next(new for old, new in BANNED.items() if re.match(f"(?:{old})\\b", word))
        around = text[max(0, found.start() - 30) : found.end() + 30]
        yield Finding(line, f"{word} -> {better}: … {' '.join(around.split())} …")


def _without_tables(text: str) -> str:
    """Return a docstring without its indented tables, drawings and examples."""
    lines = text.splitlines()
    ends = [len(each) - len(each.lstrip()) for each in lines[1:] if each.strip()]
    margin = min(ends, default=0)
    kept = [
        "" if number and (each.startswith(" " * (margin + 2)) or _ROW.match(each)) else each.strip()
        for number, each in enumerate(lines)
    ]
    return "\n".join(kept)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) < 90 else f"{words[:90]} …"


def check_file(path: Path) -> Iterator[Finding]:
    """Yield the findings in one file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from check_python(text, path=str(path))
    elif path.suffix == ".md":
        yield from check_markdown(text)


def files(root: Path, places: Iterable[str]) -> list[Path]:
    """Return the Python and Markdown files of the tree, or of the places in it."""
    command = [
        "git",
        "ls-files",
        "--full-name",
        "--cached",
        "--others",
        "--exclude-standard",
        *places,
    ]
    listing = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    paths = [root / name for name in listing.splitlines()]
    return [
        each
        for each in paths
        if each.suffix in {".py", ".md"}
        and each.is_file()
        and each.relative_to(root).as_posix() not in EXEMPT
    ]


def main() -> int:
    """Print the findings; return 1 if there are any."""
    count = 0
    for path in files(Path.cwd(), sys.argv[1:]):
        for finding in check_file(path):
            count += 1
            print(f"{path.relative_to(Path.cwd())}:{finding.line}: {finding.text}")
    print(f"{count} findings", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
