"""The fast set-up is enough for the fast tests, and CI begins with a fresh clone."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from scripts.fast_imports import SLOW_MARKS, FastImports, folders

ROOT: Final = Path(__file__).parents[1]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree with this tree's Makefile and locked packages, and one fast test."""
    for folder in ("tests/unit", "requirements"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("Makefile", "requirements/dev.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "tests/unit/test_planted.py").write_text("import numpy\n")
    return tmp_path


def test_fast_tests_import_only_packages_of_the_fast_set_up() -> None:
    assert FastImports(ROOT).findings() == []


def test_fast_tests_that_skip_without_a_package_belong_to_a_slow_tier_too() -> None:
    assert FastImports(ROOT).unmarked_skips() == []


def test_packages_of_the_fast_set_up_are_no_finding(tree: Path) -> None:
    assert FastImports(tree).findings() == []


@pytest.mark.parametrize("package", ("confluent_kafka", "pyspark", "kafka"))
def test_slow_package_is_found_in_a_fast_test(tree: Path, package: str) -> None:
    (tree / "tests/unit/test_planted.py").write_text(f"import {package}\n")

    assert FastImports(tree).findings() == [f"tests/unit/test_planted.py:1: imports {package}"]


def test_slow_package_is_found_behind_a_helper(tree: Path) -> None:
    (tree / "tests/unit/test_planted.py").write_text("from tests import helper\n")
    (tree / "tests/helper.py").write_text("if True:\n    from pyspark.sql import Row\n")

    (finding,) = FastImports(tree).findings()

    assert finding == "tests/helper.py:2: imports pyspark (reached from tests/unit/test_planted.py)"


def test_import_behind_importorskip_is_no_finding_but_needs_a_slow_mark(tree: Path) -> None:
    planted = 'import pytest\n\npytest.importorskip("pyspark")\nimport pyspark\n'
    (tree / "tests/unit/test_planted.py").write_text(planted)

    checked = FastImports(tree)

    assert checked.findings() == []
    assert checked.unmarked_skips() == ["tests/unit/test_planted.py:3: no slow mark"]


def test_every_folder_of_tests_belongs_to_a_target() -> None:
    listed = {*folders(ROOT, "FAST_FOLDERS"), *folders(ROOT, "SLOW_FOLDERS")}

    tests = (ROOT / "tests").rglob("test_*.py")

    assert [path for path in tests if not listed & {path, *path.parents}] == []


def test_every_slow_mark_is_in_a_slow_folder() -> None:
    slow = {*folders(ROOT, "SLOW_FOLDERS")}
    marks = re.compile(rf"pytest\.mark\.({'|'.join(SLOW_MARKS)})\b")
    marked = {
        path for path in (ROOT / "tests").rglob("test_*.py") if marks.search(path.read_text())
    }

    assert [path for path in marked if not slow & {path, *path.parents}] == []


def test_ci_begins_with_a_fresh_clone() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()

    first = next(line for line in lines if "make" in line.split() or "/fresh-clone" in line)

    assert first.endswith("scripts/fresh-clone test demo")


def test_step_is_timed_and_its_failure_returned(tmp_path: Path) -> None:
    timed = ROOT / "scripts" / "timed"
    times = tmp_path / "times"

    subprocess.run([timed, times, "a step", "true"], check=True)
    failed = subprocess.run([timed, times, "another", "false"], check=False)

    assert failed.returncode == 1
    assert re.fullmatch(r"a step +\d+\.0 s\n", times.read_text())
