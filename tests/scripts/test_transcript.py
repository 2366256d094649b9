"""The runner of transcripts finds wrong outcomes, and rejects what it cannot run."""

from pathlib import Path
from typing import Final

import pytest

from tests.scripts import transcript
from tests.scripts.transcript import ScriptError


class Counter:
    """A family of two commands."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, number: int, *, times: int = 1, is_quiet: bool = False) -> str | None:
        self.total += number * times
        return None if is_quiet else f"total {self.total}"

    def echo(self, *, lines: tuple[str, ...]) -> str:
        return "\n".join(reversed(lines))


GOOD: Final = """\
# Two numbers are added.
add 2 times=3
----
total 6

add 1s is-quiet=true
----
ok

echo
one
two
----
two
one
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "counter.txt"
    path.write_text(GOOD)
    return path


def test_runner_accepts_a_true_script(script: Path) -> None:
    transcript.check(script, Counter)


def test_runner_reports_a_planted_wrong_outcome_with_file_and_line(script: Path) -> None:
    script.write_text(GOOD.replace("total 6", "total 7"))

    with pytest.raises(AssertionError) as caught:
        transcript.check(script, Counter)

    lines = str(caught.value).splitlines()
    assert lines[0] == "counter.txt:4: the outcome differs"
    assert lines[lines.index("-total 7") + 1] == "+total 6"


def test_runner_rewrites_outcomes_and_nothing_else(script: Path) -> None:
    script.write_text(GOOD.replace("total 6", "total 7\nand more").replace("two\none\n", ""))

    transcript.check(script, Counter, is_rewriting=True)

    assert script.read_text() == GOOD


@pytest.mark.parametrize(
    ("old", "new", "message"),
    (
        ("add 2", "subtract 2", "counter.txt:2: unknown command subtract"),
        ("add 2", "total 2", "counter.txt:2: unknown command total"),
        ("times=3", "time=3", "counter.txt:2: unknown argument time"),
        ("times=3", "times=three", "counter.txt:2: times cannot be three"),
        ("times=3", "times=3 times=4", "counter.txt:2: times is given twice"),
        ("times=3", "3", "counter.txt:2: unexpected word 3"),
        ("add 2", "add", "counter.txt:2: add: missing a required argument: 'number'"),
        ("is-quiet=true", "is-quiet=yes", "counter.txt:6: is_quiet cannot be yes"),
        ("is-quiet=true", "\n", "counter.txt:6: no ---- follows the command"),
        ("is-quiet=true", "is-quiet=true\ninput", "counter.txt:6: add takes no input"),
        (GOOD, "# Nothing.\n", "counter.txt: no commands"),
    ),
)
@pytest.mark.parametrize("is_rewriting", (False, True))
def test_runner_rejects_a_script_it_cannot_run(
    script: Path, *, old: str, new: str, message: str, is_rewriting: bool
) -> None:
    planted = GOOD.replace(old, new)
    script.write_text(planted)

    with pytest.raises(ScriptError, match=f"^{message}"):
        transcript.check(script, Counter, is_rewriting=is_rewriting)

    assert script.read_text() == planted
