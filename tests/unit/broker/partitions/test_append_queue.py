"""Tests of the queue of one partition's appends."""

import weakref
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from cordwood.broker.partitions.append_queue import AppendQueue
from cordwood.broker.pending_results import Completed
from cordwood.core.errors import InvalidRecordError, NotLeaderOrFollowerError
from cordwood.core.ports import Pending


class Scene:
    """A queue whose preparations end one by one; writes are recorded."""

    def __init__(self) -> None:
        self.queue = AppendQueue[str, str](self._call_soon, self._change_files)
        self.written = list[str]()
        self.changes = dict[str, Future[None]]()
        self.on_change: Callable[[str], object] = lambda _: None
        self._soon = list[Callable[[], object]]()

    def add(self, *results: str) -> list[tuple[Future[str], Pending[str]]]:
        """Queue appends that return these results; return their preparations and outcomes."""
        found = []
        for _ in results:
            prepared: Future[str] = Future()
            found.append((prepared, self.queue.add(prepared, self.write)))
        return found

    def turn(self) -> None:
        """Make the calls that the worker's threads have asked for."""
        soon, self._soon = self._soon, []
        for call in soon:
            call()

    def write(self, prepared: str) -> Pending[str]:
        if prepared == "refused":
            raise InvalidRecordError("a record", expected=1, found=2)
        self.written.append(prepared)
        return Completed(f"offset of {prepared}")

    def _change_files(self, prepared: str) -> Pending[None] | None:
        """Return the change that the write of this preparation needs, once."""
        self.on_change(prepared)
        return self.changes.pop(prepared, None)

    def _call_soon(self, call: Callable[[], object]) -> None:
        self._soon.append(call)


def test_appends_are_written_in_their_order_whichever_is_prepared_first() -> None:
    scene = Scene()
    (first, one), (second, two) = scene.add("a", "b")

    second.set_result("b")
    scene.turn()
    before = [*scene.written]
    first.set_result("a")
    scene.turn()

    assert (before, scene.written) == ([], ["a", "b"])
    assert (one.result(), two.result(), len(scene.queue)) == ("offset of a", "offset of b", 0)


def test_appends_behind_a_slow_one_are_written_a_few_per_turn() -> None:
    scene = Scene()
    ((slow, _), *others) = scene.add(*map(str, range(25)))
    for number, (prepared, _) in enumerate(others, 1):
        prepared.set_result(str(number))
    scene.turn()

    slow.set_result("0")
    counts = []
    for _ in range(3):
        scene.turn()
        counts.append(len(scene.written))

    assert (counts, scene.written) == ([10, 20, 25], [*map(str, range(25))])


def test_write_happens_on_the_thread_of_the_owner() -> None:
    scene = Scene()
    ((prepared, _),) = scene.add("a")

    prepared.set_result("a")

    assert (scene.written, len(scene.queue)) == ([], 1)


def test_failed_preparation_or_write_does_not_hold_up_the_next_append() -> None:
    scene = Scene()
    (first, one), (second, two), (third, three) = scene.add("a", "b", "c")

    third.set_result("c")
    second.set_result("refused")
    first.set_exception(InvalidRecordError("a batch", expected=1, found=0))
    scene.turn()

    assert scene.written == ["c"]
    assert [type(each.exception()) for each in (one, two)] == [InvalidRecordError] * 2
    assert three.result() == "offset of c"


def test_appends_of_an_ended_leadership_fail_and_are_never_written() -> None:
    scene = Scene()
    ((prepared, outcome),) = scene.add("a")

    scene.queue.fail(NotLeaderOrFollowerError("broker 2 leads it"))
    prepared.set_result("a")
    scene.turn()

    assert scene.written == []
    with pytest.raises(NotLeaderOrFollowerError):
        outcome.result()


# -- changes of files


def test_appends_wait_while_files_are_changed_for_the_first_one() -> None:
    scene, change = Scene(), Future[None]()
    scene.changes["a"] = change
    (first, one), (second, _) = scene.add("a", "b")
    first.set_result("a")
    second.set_result("b")

    scene.turn()
    before = [*scene.written]
    change.set_result(None)
    scene.turn()

    assert (before, scene.written) == ([], ["a", "b"])
    assert one.result() == "offset of a"


def test_append_fails_with_the_change_of_its_files() -> None:
    scene, change = Scene(), Future[None]()
    scene.changes["a"] = change
    (first, one), (second, two) = scene.add("a", "b")
    first.set_result("a")
    second.set_result("b")
    scene.turn()

    change.set_exception(OSError("No space"))
    scene.turn()

    assert isinstance(one.exception(), OSError)
    assert (two.result(), scene.written) == ("offset of b", ["b"])


def test_append_that_was_begun_with_a_change_is_written_behind_it() -> None:
    scene, change, prepared = Scene(), Future[None](), Future[str]()
    prepared.set_result("a")

    pending = scene.queue.add_first(prepared, scene.write, change=change)
    scene.turn()
    before = [*scene.written]
    change.set_result(None)
    scene.turn()

    assert (before, scene.written, pending.result()) == ([], ["a"], "offset of a")


def test_appends_fail_once_when_their_files_end_the_leadership() -> None:
    scene = Scene()
    (first, one), (_, two) = scene.add("a", "b")

    def fail(_: str) -> None:
        scene.queue.fail(NotLeaderOrFollowerError("orders-0 is offline"))
        raise InvalidRecordError("a file", expected="a disk", found="none")

    scene.on_change = fail
    first.set_result("a")
    scene.turn()

    assert [type(each.exception()) for each in (one, two)] == [NotLeaderOrFollowerError] * 2
    assert (scene.written, len(scene.queue)) == ([], 0)


def test_write_that_has_ended_is_freed_without_a_garbage_collection() -> None:
    scene, written = Scene(), [Future[str]()]
    is_there = weakref.ref(written[0])
    done = scene.queue.add(Completed("a"), lambda _: written[0])
    scene.turn()

    written.pop().set_result("offset of a")

    assert done.result() == "offset of a"
    assert is_there() is None
