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
