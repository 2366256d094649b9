"""What is deleted goes a while later."""

import errno

import pytest

from cordwood.storage.deletions import ScheduledDeletions, remove_tree
from cordwood.testing.clock import VirtualClock
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles
from cordwood.testing.worker import InlineWorker


class Yard:
    """A directory with files, and deletions that tell their errors."""

    def __init__(self, *names: str) -> None:
        self.clock = VirtualClock()
        self.files = MemoryFiles(self.clock)
        self.files.make_directory("/d")
        for name in names:
            self.files.create(f"/d/{name}")
        self.errors: list[tuple[str, int | None]] = []
        self.deletions = ScheduledDeletions(
            self.files,
            self.clock,
            InlineWorker(),
            now_ms=self.clock.monotonic_ms,
            on_error=lambda path, error: self.errors.append((path, error.errno)),
        )


def test_deletions_remove_files_when_their_time_has_come() -> None:
    yard = Yard("a", "b", "c")

    yard.deletions.remove_later(["/d/a", "/d/b"], delay_ms=1000)
    yard.clock.advance(ms=999)
    before = yard.files.list("/d")
    yard.clock.advance(ms=1)

    assert before == ["a", "b", "c"]
    assert yard.files.list("/d") == ["c"]


def test_deletions_of_nothing_wait_for_nothing() -> None:
    yard = Yard()

    yard.deletions.remove_later([], delay_ms=1000)

    assert yard.clock.next_call_ms() is None


def test_deletions_do_not_mind_what_is_gone_already() -> None:
    yard = Yard("b")

    yard.deletions.remove_later(["/d/a", "/d/b"], delay_ms=0)
    yard.clock.advance(ms=0)

    assert yard.files.list("/d") == []
    assert yard.errors == []


def test_deletions_tell_what_could_not_go_and_go_on() -> None:
    yard = Yard("a", "b")
    yard.files.script.add(Fault(on="remove", path="/d/a"))

    yard.deletions.remove_later(["/d/a", "/d/b"], delay_ms=0)
    yard.clock.advance(ms=0)

    assert yard.errors == [("/d/a", errno.EIO)]
    assert yard.files.list("/d") == ["a"]


def test_tree_is_removed_with_all_that_is_in_it() -> None:
    yard = Yard("a")
    yard.files.make_directory("/d/e")
    yard.files.create("/d/e/f")

    remove_tree(yard.files, "/d")

    assert yard.files.list("/") == []


def test_tree_that_is_gone_does_not_matter() -> None:
    remove_tree(MemoryFiles(), "/d")


@pytest.mark.parametrize("call", ("stat", "remove"))
def test_tree_goes_although_one_of_its_files_has_gone_meanwhile(call: str) -> None:
    yard = Yard("a", "b")
    yard.files.script.add(Fault(on=call, path="/d/a", code=errno.ENOENT))

    with pytest.raises(OSError, match="not empty"):
        remove_tree(yard.files, "/d")

    assert yard.files.list("/d") == ["a"]
