"""The tutorials run as they stand there: commands with their output, and Python sessions.

The address of the broker and the ids of topics differ each time. Commands that begin processes or
install packages are in blocks of the language `sh`; other tests run those.
"""

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.test_commands_page import TOPIC_ID
from tests.test_workbench_page import transcripts
from tests.unit.cli.commands import run, running_broker

DOCS: Final = Path(__file__).parents[1] / "docs"
BROKER: Final = "localhost:9092"
BLOCK: Final = re.compile(r"^```(console|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)


class ShownBlock(NamedTuple):
    """A block of a page: commands (console), or a Python session (pycon)."""

    language: str
    text: str


def blocks(page: Path) -> Iterator[ShownBlock]:
    """Yield the blocks of a page that are run, in order."""
    for language, text in BLOCK.findall(page.read_text()):
        yield ShownBlock(language, text)


class TutorialRun:
    """A run of the blocks of a page in one directory; sessions share their names."""

    def __init__(
        self, bootstrap: str, patch: pytest.MonkeyPatch, printed: pytest.CaptureFixture[str]
    ) -> None:
        self._bootstrap = bootstrap
        self._patch = patch
        self._printed = printed
        self._names: dict[str, object] = {}
        self._code = 0

    def run(self, page: Path) -> None:
        """Run each block, and compare what it prints with the page."""
        for number, block in enumerate(blocks(page)):
            if block.language == "pycon":
                self._run_session(block.text, f"{page.name}, block {number}")
                continue
            for command, shown in transcripts(f"```console\n{block.text}```\n"):
                assert comparable(self._output_of(command, shown)) == comparable(shown), command

    def _output_of(self, command: str, shown: str) -> str:
        if command.startswith("cat "):
            Path(command.removeprefix("cat ")).write_text(shown)
            return shown
        if command == "echo $?":
            return f"{self._code}\n"
        words = shlex.split(command.replace(BROKER, self._bootstrap))
        self._code, out, err = run((*words[1:],), self._patch, self._printed)
        return (out + err).replace(self._bootstrap, BROKER).replace(f"{Path.cwd()}/", "")

    def _run_session(self, text: str, name: str) -> None:
        session = text.replace(BROKER, self._bootstrap)
        test = doctest.DocTestParser().get_doctest(session, self._names, name, name, 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        with self._printed.disabled():
            runner.run(test, clear_globs=False)
        self._names = test.globs
        assert runner.summarize(verbose=False).failed == 0


def comparable(text: str) -> str:
    """Return output without what differs each time."""
    return TOPIC_ID.sub("ID", text)


@pytest.mark.parametrize("name", ("first-topic", "first-broken-log"))
def test_tutorial_shows_what_its_commands_print(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with running_broker() as bootstrap:
        monkeypatch.setenv("CORDWOOD_BOOTSTRAP_SERVER", bootstrap)
        TutorialRun(bootstrap, monkeypatch, capfd).run(DOCS / "tutorials" / f"{name}.md")
