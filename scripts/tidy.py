"""Budgets of this code base, checked on syntax trees and text; `docs/decisions` gives the reasons.

Each rule is a generator from one source file, or from the whole tree, to findings. The checks of
ruff (complexity, banned calls, imports) are not repeated here. A finding on a definition is allowed
by a comment on its first line, with a reason: `# tidy: allow[rule] reason`.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from scripts import prose

MODULE_LINES = 500
MESSAGES_LINES = 700
FUNCTION_LINES = 60
CLASS_LINES = 300
INIT_LINES = 25
PARAMETERS = 6
POSITIONAL = 2
NESTING = 3

RULES = {
    "any",
    "class-name",
    "class-lines",
    "docstring",
    "exceptions",
    "function-lines",
    "init-io",
    "init-lines",
    "mirror",
    "module-docstring",
    "module-lines",
    "nesting",
    "noqa",
    "parameters",
    "place",
    "positional",
    "prose",
    "type-ignore",
    "unfinished",
    "vague-name",
}
ROOTS = ("src", "tests", "benchmarks", "examples", "scripts", "native")
#: Budgets are alarms. Where one would split a thing that belongs together, its definition is exempt
#: by a comment with the reason, in at most this many places of the tree.
SIZES = {"class-lines", "function-lines", "init-lines", "module-lines", "nesting"}
EXCEPTIONS = 15
#: One class name, one meaning. The blocking clients share the names of those for asyncio.
TWINS = {"Admin", "Consumer", "Producer"}
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
MESSAGES = PurePosixPath("src/cordwood/protocol/messages")
DOING_IO = {"open", "os", "socket", "subprocess", "shutil", "mmap"}

# A buffer and a position in it count as one parameter.
PLACE_NAMES = {"buffer", "data", "view", "out", "position", "start", "end", "at"}
# All handlers have the same three parameters.
ASKED_NAMES = {"broker", "context", "request"}

# Compiled signatures know neither keywords nor objects, so a kernel takes what it needs in order.
KERNELS = re.compile(r"src/cordwood/(records|compaction)/kernels/")

ALLOW = re.compile(r"# tidy: allow\[([a-z-]+)\] \w+")
UNFINISHED = re.compile(r"#.*\b(?:TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b(?!\(#\d+\))")
TYPE_IGNORE = re.compile(r"# type[:] ignore\b(?P<code>\[[\w, -]+\])?(?P<reason>\s+\S*\s*\w+)?")
NOQA = re.compile(r"# no[q]a\b(?P<code>: ?[A-Z]+\d+(?:, ?[A-Z]+\d+)*)?(?P<reason>\s+\S*\s*\w+)?")
PLACES = re.compile(
    r"(?<![\w.])/(?:work|root|home/\w+)/"
    r"|\b(?:pypi|files\.pythonhosted|registry\.npmjs|static\.crates|deb\.debian)\.(?:org|io)\b"
    r"|\brepo\d?\.maven\b",
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """One broken rule, and where."""

    path: str
    line: int
    rule: str
    text: str

    def __post_init__(self) -> None:
        assert self.rule in RULES, f"{self.rule} is not among the rules"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


@dataclass(frozen=True)
class Source:
    """One Python file: its path inside the tree, its text, its syntax tree."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The text, line by line."""
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def functions(self) -> list[Function]:
        """Every function and method, nested ones too."""
        return [node for node in self.nodes if isinstance(node, Function)]

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        """Every class."""
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]

    def finding(self, line: int, rule: str, *, text: str) -> Iterator[Finding]:
        """The finding, unless a comment on its line allows it."""
        found = ALLOW.search(self.lines[line - 1]) if 0 < line <= len(self.lines) else None
        if found is None or found[1] != rule:
            yield Finding(path=self.path, line=line, rule=rule, text=text)


def check_module(source: Source) -> Iterator[Finding]:
    """A module has a docstring, a telling name and one subject that fits its budget."""
    budget = MESSAGES_LINES if "/protocol/messages/" in source.path else MODULE_LINES
    if len(source.lines) > budget:
        yield from source.finding(1, "module-lines", text=f"{len(source.lines)} > {budget}")
    if ast.get_docstring(source.tree) is None:
        yield from source.finding(1, "module-docstring", text="a module opens with its rule")
    if VAGUE_NAMES & set(PurePosixPath(source.path).with_suffix("").parts):
        yield from source.finding(1, "vague-name", text="name the noun the module is about")


def check_functions(source: Source) -> Iterator[Finding]:
    """Functions are short, flat and take few things."""
    for function in source.functions:
        lines = _body_lines(function)
        if lines > FUNCTION_LINES:
            text = f"{function.name}: {lines} > {FUNCTION_LINES}"
            yield from source.finding(function.lineno, "function-lines", text=text)
        depth = _nesting(function.body)
        if depth > NESTING:
            text = f"{function.name}: {depth} > {NESTING}"
            yield from source.finding(function.lineno, "nesting", text=text)
        if not KERNELS.match(source.path):
            yield from _check_parameters(source, function)


def _check_parameters(source: Source, function: Function) -> Iterator[Finding]:
    given = function.args
    positional = [each.arg for each in (*given.posonlyargs, *given.args)]
    if positional[:1] in (["self"], ["cls"]):
        del positional[0]
    total = len(positional) + len(given.kwonlyargs)
    if total > PARAMETERS:
        text = f"{function.name}: {total} > {PARAMETERS}"
        yield from source.finding(function.lineno, "parameters", text=text)
    is_called_by_others = source.path.startswith("src/") and not function.name.startswith("_")
    spared = (len(names.intersection(positional)) - 1 for names in (PLACE_NAMES, ASKED_NAMES))
    if is_called_by_others and len(positional) - sum(max(0, each) for each in spared) > POSITIONAL:
        text = f"{function.name}: keyword-only past {POSITIONAL}"
        yield from source.finding(function.lineno, "positional", text=text)


def check_classes(source: Source) -> Iterator[Finding]:
    """A class fits its budget, and is made without doing anything."""
    for class_ in source.classes:
        lines = _last_line(class_) - class_.lineno + 1
        if lines > CLASS_LINES:
            text = f"{class_.name}: {lines} > {CLASS_LINES}"
            yield from source.finding(class_.lineno, "class-lines", text=text)
        for method in class_.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                yield from _check_init(source, method, owner=class_.name)


def _check_init(source: Source, init: ast.FunctionDef, *, owner: str) -> Iterator[Finding]:
    lines = _body_lines(init)
    if lines > INIT_LINES:
        yield from source.finding(
            init.lineno, "init-lines", text=f"{owner}: {lines} > {INIT_LINES}"
        )
    calls = (node for node in ast.walk(init) if isinstance(node, ast.Call))
    names = {_root_name(call.func) for call in calls}
    for name in sorted(names & DOING_IO if source.path.startswith("src/") else ()):
        yield from source.finding(init.lineno, "init-io", text=f"{owner}: {name}")


def check_docstrings(source: Source) -> Iterator[Finding]:
    """Yield public functions without a docstring, and port methods without a contract."""
    if not source.path.startswith("src/"):
        return
    for node in source.tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if not node.name.startswith("_") and ast.get_docstring(node) is None:
            yield from source.finding(node.lineno, "docstring", text=node.name)
    for class_ in source.classes:
        if "Protocol" not in {_root_name(base) for base in class_.bases}:
            continue
        for method in class_.body:
            if isinstance(method, Function) and ast.get_docstring(method) is None:
                text = f"{class_.name}.{method.name} is a port without a contract"
                yield from source.finding(method.lineno, "docstring", text=text)


def check_any(source: Source) -> Iterator[Finding]:
    """`Any` switches the type checker off; Spark's own types leave no choice."""
    if "/spark/" in source.path:
        return
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "typing":
            names = {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            names = {node.attr}
        else:
            continue
        if "Any" in names:
            yield from source.finding(node.lineno, "any", text="name the type")


def check_comments(source: Source) -> Iterator[Finding]:
    """Yield unfinished places without an issue, and silenced warnings without code and reason."""
    for number, line in enumerate(source.lines, 1):
        if "#" not in line:
            continue
        if UNFINISHED.search(line):
            yield from source.finding(number, "unfinished", text="name the issue: TODO(#12)")
        for rule, pattern in (("type-ignore", TYPE_IGNORE), ("noqa", NOQA)):
            found = pattern.search(line)
            if found and not (found["code"] and found["reason"]):
                yield from source.finding(number, rule, text="needs a code and a reason")


def check_mirror(root: Path, sources: Iterable[Source]) -> Iterator[Finding]:
    """Every module with a function has a unit test at the mirrored path.

    A `__main__` only calls its package, whose test runs it. Message modules share one test, which
    checks that each of them has golden bytes.
    """
    for source in sources:
        path = PurePosixPath(source.path)
        if path.parts[:2] != ("src", "cordwood") or path.name == "__main__.py":
            continue
        if not source.functions:
            continue
        is_package = path.name == "__init__.py"
        folder = PurePosixPath("tests/unit", *path.parent.parts[2:])
        test = folder / f"test_{path.parent.name if is_package else path.stem}.py"
        if path.parent == MESSAGES:
            test = folder / "test_golden_files.py"
        if not (root / test).is_file():
            yield from source.finding(1, "mirror", text=f"no {test}")


def check_class_names(sources: Iterable[Source]) -> Iterator[Finding]:
    """Yield class names with two meanings; structs of messages have Kafka's schema names."""
    first: dict[str, str] = {}
    for source in sources:
        path = PurePosixPath(source.path)
        if path.parts[0] != "src" or path.parent == MESSAGES:
            continue
        for class_ in source.classes:
            place = f"{source.path}:{class_.lineno}"
            known = first.setdefault(class_.name, place)
            if known != place and class_.name not in TWINS:
                text = f"{class_.name} is also at {known}"
                yield from source.finding(class_.lineno, "class-name", text=text)


def check_exceptions(sources: Iterable[Source]) -> Iterator[Finding]:
    """Yield the exceptions from size budgets beyond the allowed number."""
    exempt = [
        (source, number)
        for source in sources
        for number, line in enumerate(source.lines, 1)
        if (found := ALLOW.search(line)) and found[1] in SIZES
    ]
    for source, number in exempt[EXCEPTIONS:]:
        yield from source.finding(number, "exceptions", text=f"more than {EXCEPTIONS} exceptions")


def check_prose(root: Path, names: Iterable[str]) -> Iterator[Finding]:
    """Yield the sentences that break the checkable half of the prose rules."""
    for name in names:
        if not name.endswith((".py", ".md")) or name in prose.EXEMPT:
            continue
        for found in prose.check_file(root / name):
            yield Finding(path=name, line=found.line, rule="prose", text=found.text)


def check_places(root: Path, names: Iterable[str]) -> Iterator[Finding]:
    """Yield committed lines that name a package index, or a folder of one machine."""
    for name in names:
        try:
            lines = (root / name).read_text(encoding="utf-8").splitlines()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for number, line in enumerate(lines, 1):
            found = PLACES.search(line)
            if found:
                yield Finding(path=name, line=number, rule="place", text=found[0])


FILE_CHECKS = (
    check_module,
    check_functions,
    check_classes,
    check_docstrings,
    check_any,
    check_comments,
)


def check_tree(root: Path) -> list[Finding]:
    """Everything there is to find in a tree, in the order of its files."""
    names = _names(root)
    sources = [
        Source(name, (root / name).read_text(encoding="utf-8"))
        for name in names
        if name.endswith(".py") and name.split("/")[0] in ROOTS
    ]
    found = [finding for source in sources for check in FILE_CHECKS for finding in check(source)]
    found += check_mirror(root, sources)
    found += check_class_names(sources)
    found += check_exceptions(sources)
    found += check_prose(root, names)
    found += check_places(root, names)
    return sorted(found)


def _names(root: Path) -> list[str]:
    if not (root / ".git").exists():
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return [name for name in listing.splitlines() if (root / name).is_file()]


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _body_lines(function: Function) -> int:
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        start = _last_line(body[0])
        signature = body[0].lineno - function.lineno
        return signature + _last_line(function) - start
    return _last_line(function) - function.lineno + 1


def _nesting(body: Iterable[ast.AST]) -> int:
    """Return the depth of nested blocks; an `elif` has the depth of its `if`."""
    deepest = 0
    for node in body:
        if isinstance(node, BLOCKS):
            deepest = max(deepest, 1 + _nesting(_inside(node)))
        if isinstance(node, ast.If) and _has_elif(node):
            deepest = max(deepest, _nesting(node.orelse))
    return deepest


def _has_elif(block: ast.AST) -> bool:
    if not isinstance(block, ast.If) or len(block.orelse) != 1:
        return False
    return isinstance(block.orelse[0], ast.If)


def _inside(block: ast.AST) -> Iterator[ast.AST]:
    parts: list[ast.AST] = [block, *getattr(block, "handlers", ()), *getattr(block, "cases", ())]
    for part in parts:
        yield from getattr(part, "body", ())
    if not _has_elif(block):
        yield from getattr(block, "orelse", ())
    yield from getattr(block, "finalbody", ())


def _root_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def main() -> int:
    """Prints what was found in this tree; 1 when there was anything."""
    found = check_tree(Path(__file__).resolve().parent.parent)
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
