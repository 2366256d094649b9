"""Replacements follow each other, between other work on the log, and stop where it has changed."""

import errno

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.storage.replacing import Replacement, SwapRefusedError
from cordwood.storage.swapper import Swapper
from cordwood.testing.faults import Fault
from tests.unit.storage.cleaned_samples import batches_of, cleaned
from tests.unit.storage.log_samples import batch, filled, lead
from tests.unit.storage.manager_samples import HeldWorker, House, made, partition


class Scene:
    """A log of segments 0, 2, 4 and 6, two replacements for it, and a worker that is told."""

    def __init__(self) -> None:
        self.house = House("/a")
        self.worker = HeldWorker()
        self.manager = self.house.load(self.worker)
        self.log = made(self.manager)[0]
        for _ in range(3):
            filled(self.log, 2).roll()
        filled(self.log, 1).flush()
        files = self.house.files
        self.replacements = [
            cleaned(files, self.log, (0, 2), without=(1,)),
            cleaned(files, self.log, (4,), without=(4,)),
        ]
        self.swapper = Swapper(self.manager)

    def swap(self, replacements: list[Replacement] | None = None) -> Pending[None]:
        return self.swapper.swap(self.log, replacements or self.replacements)

    def go_on_until(self, pending: Pending[None]) -> None:
        while not pending.done():
            self.worker.go_on()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_swap_is_done_when_all_replacements_are_in(scene: Scene) -> None:
    pending = scene.swap()
    before = scene.log.base_offsets

    scene.go_on_until(pending)

    assert before == (0, 2, 4, 6)
    assert scene.log.base_offsets == (0, 4, 6)
    assert list(batches_of(scene.log)) == [0, 2, 3, 5, 6]
    assert pending.exception() is None


def test_log_is_written_to_while_segments_are_swapped(scene: Scene) -> None:
    pending = scene.swap()
    while not pending.done():
        lead(scene.log, batch())
        scene.worker.go_on()

    assert list(batches_of(scene.log))[:5] == [0, 2, 3, 5, 6]
    assert scene.log.bounds.log_end > 12


def test_swap_stops_where_the_log_is_cut(scene: Scene) -> None:
    pending = scene.swap()
    scene.worker.go_on()

    scene.manager.truncate({partition(): 6})
    scene.go_on_until(pending)

    assert isinstance(pending.exception(), SwapRefusedError)
    assert list(batches_of(scene.log)) == [0, 2, 3, 4, 5]


def test_swap_stops_where_the_log_is_deleted(scene: Scene) -> None:
    pending = scene.swap()
    scene.worker.go_on()

    scene.manager.delete(partition())
    scene.go_on_until(pending)

    assert isinstance(pending.exception(), KafkaStorageError)
    assert scene.manager.directories[0].is_online


def test_directory_goes_offline_when_a_swap_fails(scene: Scene) -> None:
    scene.house.files.script.add(Fault(on="rename", path="*.swap", code=errno.EIO))

    pending = scene.swap()
    scene.go_on_until(pending)

    assert isinstance(pending.exception(), KafkaStorageError)
    assert not scene.manager.directories[0].is_online
