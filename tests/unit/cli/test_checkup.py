"""What is missing is told with what to do about it."""

import resource
from pathlib import Path

import pytest

from cordwood.cli import checkup
from cordwood.cli.checkup import BAD, GOOD, NOTE, Finding


@pytest.mark.parametrize(("release", "state"), (((3, 11, 0), GOOD), ((3, 10, 9), BAD)))
def test_python_has_to_be_new_enough(release: tuple[int, ...], state: str) -> None:
    assert checkup.of_python(release).state == state


@pytest.mark.parametrize(
    ("name", "version", "state"),
    (("numpy", "2.0", GOOD), ("numpy", None, BAD), ("uvloop", None, NOTE)),
)
def test_wheel_is_needed_or_of_use(name: str, version: str | None, state: str) -> None:
    found = checkup.of_wheel(name, version)

    assert found.state == state
    assert bool(found.remedy) == (version is None)


@pytest.mark.parametrize(
    ("said", "state", "found"),
    (
        ('openjdk version "17.0.1" 2021', GOOD, "17"),
        ('java version "1.8.0_202"', NOTE, "8: Spark needs it"),
        ("what?", NOTE, "not found: Spark needs it"),
        (None, NOTE, "not found: Spark needs it"),
    ),
)
def test_java_is_judged_by_what_it_says(said: str | None, state: str, found: str) -> None:
    told = checkup.of_java(said)

    assert (told.state, told.found) == (state, found)


def test_java_is_the_one_that_spark_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "java"
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    (java,) = (each for each in checkup.look(str(tmp_path)) if each.subject == "Java")

    assert java.found == "11: Spark needs it"


@pytest.mark.parametrize(
    ("defaults", "state"),
    (
        ("", NOTE),
        ("spark.sql.python.filterPushdown.enabled   true\n", GOOD),
        ("spark.master local\nspark.sql.python.filterPushdown.enabled=TRUE", GOOD),
        ("spark.sql.python.filterPushdown.enabled false\n", NOTE),
        ("# spark.sql.python.filterPushdown.enabled true\n", NOTE),
    ),
)
def test_filters_are_handed_over_if_sparks_defaults_say_so(defaults: str, state: str) -> None:
    assert checkup.of_filters(defaults).state == state


@pytest.mark.parametrize("variable", ("SPARK_CONF_DIR", "SPARK_HOME"))
def test_sparks_defaults_are_where_spark_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    folder = tmp_path if variable == "SPARK_CONF_DIR" else tmp_path / "conf"
    folder.mkdir(exist_ok=True)
    (folder / "spark-defaults.conf").write_text("spark.sql.python.filterPushdown.enabled true")
    monkeypatch.setenv(variable, str(tmp_path))

    found = {each.subject: each.state for each in checkup.look(str(tmp_path))}

    assert found["Spark's filters"] == GOOD


def test_what_spark_needs_comes_together() -> None:
    assert checkup.of_wheel("deltalake", None).remedy == "pip install 'cordwood[spark]'"


def test_kernels_are_compiled_or_will_be() -> None:
    assert checkup.of_kernels(is_warm=True).state == GOOD
    assert checkup.of_kernels(is_warm=False).state == NOTE


@pytest.mark.parametrize(("room", "state"), ((2 << 30, GOOD), (1, NOTE), (None, BAD)))
def test_disk_has_room_that_can_be_used(room: int | None, state: str) -> None:
    assert checkup.of_disk("/logs", room).state == state


@pytest.mark.parametrize(
    ("limit", "state"), ((20_000, GOOD), (resource.RLIM_INFINITY, GOOD), (1024, NOTE))
)
def test_descriptors_are_enough_or_few(limit: int, state: str) -> None:
    assert checkup.of_descriptors(limit).state == state


def test_finding_is_a_line_with_the_remedy() -> None:
    assert str(Finding("Java", NOTE, "8", "install it")) == "note: Java: 8; install it"
    assert str(Finding("Java", GOOD, "17")) == "good: Java: 17"


def test_look_sees_everything(tmp_path: Path) -> None:
    subjects = [each.subject for each in checkup.look(str(tmp_path / "not" / "there"))]

    assert {"Python", "numpy", "uvloop", "kernels", "Java", "descriptors"} < set(subjects)
    assert str(tmp_path / "not" / "there") in subjects
