"""The packages that the fast tests import, checked against the fast set-up.

`make test` installs requirements/dev.txt and runs the folders that the Makefile names in
FAST_FOLDERS. A module that these tests import must not import anything else: in a fresh clone it
would fail, and on a machine where `make test-all` ran it would not. Syntax trees are read, and no
module is imported, so that the finding is the same on both machines.

A module may begin with `pytest.importorskip("package")`. Its imports below that line are not
followed, and it must have a mark of a slow tier: otherwise no target would ever run it.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final, NamedTuple

#: First-party packages, and the folder under the root that each is stored in.
OWN: Final = {
    "cordwood": "src",
    "tests": "",
    "benchmarks": "",
    "examples": "",
    "scripts": "",
    "native": "",
    "hatch_build": "",
}
SLOW_MARKS: Final = frozenset({"crash", "interop", "fuzz", "robustness", "spark", "bench"})


class Import(NamedTuple):
    """One imported module: its whole name, and the line of the import."""

    module: str
    line: int

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]


class FastImports:
    """The imports of the fast tests of the tree at `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._imports: dict[Path, list[Import]] = {}

    def findings(self) -> list[str]:
        """Return each import that the fast set-up does not install, and the test that needs it."""
        found: list[str] = []
        seen: set[Path] = set()
        for test in self.fast_modules():
            by = f" (reached from {test.relative_to(self._root)})"
            for path in self._reached_from(test, seen):
                where = path.relative_to(self._root)
                found += (
                    f"{where}:{each.line}: imports {each.package}{by if path != test else ''}"
                    for each in self._imports_of(path)
                    if each.package not in OWN and each.package not in self._installed
                )
        return found

    def unmarked_skips(self) -> list[str]:
        """Return each `importorskip` of a fast module or test without the mark of a slow tier."""
        tests = (path for path in self.fast_modules() if path.name.startswith("test_"))
        return [
            f"{test.relative_to(self._root)}:{line}: no slow mark"
            for test in tests
            for line in _unmarked_skips(test.read_text())
        ]

    def _reached_from(self, test: Path, seen: set[Path]) -> Iterator[Path]:
        """Yield the first-party modules that a test imports, itself included, each once."""
        waiting = [test]
        while waiting:
            path = waiting.pop()
            if path not in seen:
                seen.add(path)
                yield path
                for each in self._imports_of(path):
                    waiting += self._files_of(each.module) if each.package in OWN else ()

    def fast_modules(self) -> list[Path]:
        """Return the modules that pytest imports by itself for the fast tests."""
        found = [self._root / "tests" / "conftest.py", self._root / "tests" / "spark_session.py"]
        for path in folders(self._root, "FAST_FOLDERS"):
            if path.is_dir():
                found += (each for each in path.rglob("*.py") if _is_collected(each.name))
            else:
                found.append(path)
        return sorted(each for each in found if each.is_file())

    @cached_property
    def _installed(self) -> frozenset[str]:
        """Import names of the standard library and of the distributions of requirements/dev.txt."""
        lock = (self._root / "requirements" / "dev.txt").read_text()
        names = {_normal(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
        imported = (
            name
            for name, distributions in packages_distributions().items()
            if any(_normal(each) in names for each in distributions)
        )
        return frozenset({*sys.stdlib_module_names, *imported})

    def _imports_of(self, path: Path) -> list[Import]:
        """Return what is imported when a module is."""
        if path not in self._imports:
            tree = ast.parse(path.read_text())
            self._imports[path] = list(_imports(tree.body))
        return self._imports[path]

    def _files_of(self, module: str) -> list[Path]:
        """Return the files of a first-party module and of the packages around it."""
        first, *parts = module.split(".")
        place = self._root / OWN[first] / first
        found = [place / "__init__.py"]
        for part in parts:
            place /= part
            found += [place / "__init__.py", place.with_suffix(".py")]
        return [each for each in found if each.is_file()]


def folders(root: Path, variable: str) -> list[Path]:
    """Return the paths in a list of the Makefile, which may use `$(wildcard pattern)`."""
    text = (root / "Makefile").read_text().replace("\\\n", " ")
    (value,) = re.findall(rf"^{variable} :=(.*)$", text, re.MULTILINE)
    wildcards = re.findall(r"\$\(wildcard (\S+)\)", value)
    plain = re.sub(r"\$\(wildcard \S+\)", " ", value).split()
    return [root / each for each in plain] + [
        path for pattern in wildcards for path in sorted(root.glob(pattern))
    ]


def _unmarked_skips(text: str) -> Iterator[int]:
    """Yield the lines of statements that may skip, unless they or their module have a slow mark."""
    if "importorskip" not in text:
        return
    tree = ast.parse(text)
    if any(_names_slow_mark(node) for node in tree.body if _assigns(node, "pytestmark")):
        return
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        if _may_skip(node) and not any(_names_slow_mark(each) for each in decorators):
            yield node.lineno


def _imports(body: list[ast.stmt]) -> Iterator[Import]:
    """Yield the imports that run with these statements, up to an `importorskip`."""
    for node in body:
        if isinstance(node, ast.Expr) and _may_skip(node):
            return
        match node:
            case ast.Import(names=names):
                yield from (Import(each.name, node.lineno) for each in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield Import(module, node.lineno)
                if module.partition(".")[0] in OWN:
                    yield from (Import(f"{module}.{each.name}", node.lineno) for each in names)
            case ast.If(test=test) if "TYPE_CHECKING" in ast.unparse(test):
                yield from _imports(node.orelse)
            case ast.If() | ast.With() | ast.ClassDef():
                yield from _imports([*node.body, *getattr(node, "orelse", [])])
            case ast.Try():
                yield from _imports([*node.body, *node.orelse, *node.finalbody])


def _is_collected(name: str) -> bool:
    return name == "conftest.py" or name.startswith("test_")


def _may_skip(node: ast.AST) -> bool:
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr == "importorskip" for each in calls)


def _assigns(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == name for target in node.targets
    )


def _names_slow_mark(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Attribute) and each.attr in SLOW_MARKS for each in ast.walk(node)
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
