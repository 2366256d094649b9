"""Every gate is seen to fail: a violation is planted in a copy of the tree, and named."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts import tidy

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {each["id"]: each for each in SETTINGS["tool"]["importlinter"]["contracts"]}
BANNED = SETTINGS["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]


def run(*command: str, folder: Path) -> str:
    """Return the output of a gate for the tree in the folder; the gate must fail."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    done = subprocess.run(
        [BIN / command[0], *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode != 0, f"{command[0]} let it pass:\n{output}"
    return output


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A tree with this tree's settings and one package with nothing in it."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in ("src/cordwood/core", "tests/unit/core"):
        (tmp_path / folder).mkdir(parents=True)
    for package in ("src/cordwood", "src/cordwood/core"):
        (tmp_path / package / "__init__.py").write_text('"""A package."""\n')
    return tmp_path


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A copy of all the source, for the gates that look at the import graph."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=skipped)
    return tmp_path


# ------------------------------------------------------------------------------------------ ruff
def test_ruff_names_every_banned_call_when_planted(small: Path) -> None:
    modules = sorted({name.split(".")[0] for name in BANNED})
    planted = "".join(f"import {module}\n" for module in modules)
    (small / "src/cordwood/planted.py").write_text(planted + "\n" + "\n".join(sorted(BANNED)))

    output = run("ruff", "check", "--no-cache", "--output-format=concise", ".", folder=small)

    for name in BANNED:
        assert f"`{name}` is banned" in output


PLANTED_LINT = {
    "TID252": "from . import core\n",
    "D100": "x = 1\n",
    "F401": "import json\n",
    "E501": f"x = '{'x' * 100}'\n",
    "FIX002": "# TO" + "DO: later\n",
    "T201": "print(1)\n",
    "BLE001": "try:\n    x = 1\nexcept Exception:\n    x = 2\n",
    "PLR0913": "def f(a, b, c, d, e, f, g): ...\n",
    "C901": "def f(x):\n" + "".join(f"    if x == {n}: x = {n}\n" for n in range(11)),
}


def test_ruff_names_every_rule_when_planted(small: Path) -> None:
    for code, text in PLANTED_LINT.items():
        (small / f"src/cordwood/planted_{code.lower()}.py").write_text(text)

    output = run("ruff", "check", "--no-cache", "--output-format=concise", ".", folder=small)

    for code in PLANTED_LINT:
        found = [line for line in output.splitlines() if f"planted_{code.lower()}.py" in line]
        assert any(f" {code} " in line for line in found), code


def test_formatter_names_the_file_when_unformatted(small: Path) -> None:
    (small / "src/cordwood/planted.py").write_text("x  =  {1 :2}\n")

    output = run("ruff", "format", "--no-cache", "--check", ".", folder=small)

    assert "would be reformatted" in output
    assert "src/cordwood/planted.py" in output


def test_ruff_settings_give_a_reason_for_every_ignore() -> None:
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    start = lines.index("ignore = [", lines.index("[tool.ruff.lint]"))
    ignores = lines[start + 1 : lines.index("]", start)]

    assert ignores
    assert not [line for line in ignores if "  # " not in line and " # " not in line]


# ------------------------------------------------------------------------------------------ mypy
PLANTED_TYPES = {
    "no-untyped-def": "def planted(x): ...\n",
    "return-value": "def planted() -> int:\n    return 'one'\n",
    "type-arg": "def planted(x: list) -> None: ...\n",
    "ignore-without-code": "x: int = 'one'  # type" + ": ignore\n",
    "unused-ignore": "x: int = 1  # type" + ": ignore[assignment]\n",
    "import-not-found": "import no_such_module\n",
    "unreachable": "def planted(x: int) -> None:\n    if isinstance(x, str):\n        print(x)\n",
}


def test_mypy_names_every_mistake_when_planted(small: Path) -> None:
    for code, text in PLANTED_TYPES.items():
        (small / f"src/planted_{code.replace('-', '_')}.py").write_text(text)

    output = run("mypy", "--no-incremental", "--show-error-codes", "src", folder=small)

    for code in PLANTED_TYPES:
        found = [line for line in output.splitlines() if code.replace("-", "_") + ".py" in line]
        assert any(f"[{code}]" in line for line in found), f"{code} in\n{output}"


# --------------------------------------------------------------------------------- import-linter
def test_each_contract_breaks_when_planted(whole: Path) -> None:
    package = whole / "src/cordwood"
    vendors = ["numba", "numpy", "pyarrow", "cramjam", "google_crc32c", "pytest"]
    vendors += ["deltalake", "fastavro", "google", "kazoo", "pyiceberg", "pyspark", "re2", "rich"]
    vendors += ["typer"]
    (package / "core/planted_layer.py").write_text("import cordwood.records.compression\n")
    (package / "core/planted_left.py").write_text("import cordwood.core.planted_right\n")
    (package / "core/planted_right.py").write_text("import cordwood.core.planted_left\n")
    (package / "records/planted_door.py").write_text(
        "import cordwood.core.system\nimport cordwood.records.kernels\n"
    )
    (package / "core/planted_vendor.py").write_text("".join(f"import {v}\n" for v in vendors))
    (package / "core/planted_doing.py").write_text("import threading\n")
    for id_, contract in CONTRACTS.items():
        if id_.startswith("layers-"):
            folder = contract["containers"][0].removeprefix("cordwood.").replace(".", "/")
            (package / folder / "planted_without_layer.py").write_text("")
    with (package / "core/types.py").open("a") as types:
        types.write("import cordwood.core.planted_doing\n")
        types.writelines(f"import {name}\n" for name in CONTRACTS["purity"]["forbidden_modules"])

    output = run("lint-imports", "--no-cache", "--no-logo", folder=whole)

    for contract in CONTRACTS.values():
        assert f"{contract['name']} BROKEN" in output
    for name in CONTRACTS["purity"]["forbidden_modules"]:
        assert f"cordwood.core.types is not allowed to import {name}" in output
    assert "cordwood.core.types -> cordwood.core.planted_doing" in output
    for vendor in vendors:
        assert f"cordwood.core.planted_vendor -> {vendor}" in output


def test_layers_name_a_package_without_a_layer(whole: Path) -> None:
    (whole / "src/cordwood/stowaway.py").write_text('"""No layer names this."""\n')

    output = run("lint-imports", "--no-cache", "--no-logo", "--contract=layers", folder=whole)

    assert "stowaway" in output


# ------------------------------------------------------------------------------------------ tidy
def lines(count: int, indent: str = "") -> str:
    """As many statements as asked for."""
    return f"{indent}x = 1\n" * count


DOC = '"""A docstring."""\n'
PLANTED_BUDGETS = {
    "module-lines": DOC + lines(tidy.MODULE_LINES),
    "module-docstring": "x = 1\n",
    "function-lines": DOC + "def f() -> None:\n    " + DOC + lines(tidy.FUNCTION_LINES, "    "),
    "nesting": DOC
    + "def _f() -> None:\n"
    + "".join("    " * depth + "if x:\n" for depth in range(1, 5))
    + lines(1, "    " * 5),
    "parameters": DOC + "def _f(a, b, *, c, d, e, f, g): ...\n",
    "positional": DOC + "def f(a, b, c):\n    " + DOC,
    "class-lines": DOC + "class C:\n    " + DOC + lines(tidy.CLASS_LINES, "    "),
    "init-lines": DOC + "class _C:\n    def __init__(self):\n" + lines(tidy.INIT_LINES, "        "),
    "init-io": DOC + "class _C:\n    def __init__(self):\n        open('x')\n",
    "docstring": DOC + "class _P(Protocol):\n    def now(self): ...\n",
    "any": DOC + "from typing import Any\n",
    "unfinished": DOC + "x = 1  # TO" + "DO: later\n",
    "type-ignore": DOC + "x = 1  # type" + ": ignore[assignment]\n",
    "noqa": DOC + "x = 1  # no" + "qa: F401\n",
    "mirror": DOC + "def _f() -> None: ...\n",
    "class-name": DOC + "class _C: ...\nclass _C: ...\n",
    "exceptions": DOC + "x = 1  # tidy: allow[nesting] reason\n" * (tidy.EXCEPTIONS + 1),
    "prose": '"""What a module holds."""\n',
    "place": DOC + "x = '/ro" + "ot/x'\n",
}


@pytest.mark.parametrize("rule", sorted(PLANTED_BUDGETS))
def test_tidy_names_the_rule_when_planted(rule: str, small: Path) -> None:
    (small / "src/cordwood/core/planted.py").write_text(PLANTED_BUDGETS[rule])

    found = {(finding.rule, finding.path) for finding in tidy.check_tree(small)}

    assert (rule, "src/cordwood/core/planted.py") in found


def test_tidy_names_a_module_with_a_meaningless_name(small: Path) -> None:
    (small / "src/cordwood/core/utils.py").write_text(DOC)

    found = {finding.rule for finding in tidy.check_tree(small)}

    assert "vague-name" in found


def test_tidy_has_no_findings_when_no_violation_is_planted(small: Path) -> None:
    (small / "src/cordwood/core/types.py").write_text(DOC)
    (small / "tests/unit/core/test_types.py").write_text(DOC)

    assert tidy.check_tree(small) == []


def test_tidy_has_no_finding_when_a_comment_gives_the_reason(small: Path) -> None:
    text = DOC + "def f(a, b, c):  # tidy: allow[positional] three coordinates\n    " + DOC
    (small / "src/cordwood/core/types.py").write_text(text)
    (small / "tests/unit/core/test_types.py").write_text(DOC)

    assert tidy.check_tree(small) == []


def test_every_tidy_rule_is_planted() -> None:
    assert {*PLANTED_BUDGETS, "vague-name"} == tidy.RULES
