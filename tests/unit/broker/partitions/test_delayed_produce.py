"""Tests of appends that wait until their records count."""

import pytest

from cordwood.broker.partitions.delayed_produce import DelayedProduce
from cordwood.core.errors import NotEnoughReplicasAfterAppendError, RequestTimedOutError
from cordwood.core.ports import Pending
from cordwood.testing.virtual_clock import VirtualClock


class Scene:
    """Waiting appends under a virtual clock."""

    def __init__(self) -> None:
        self.time = VirtualClock()
        self.delayed = DelayedProduce[str](self.time, self.time)

    def wait(
        self, end: int, *, needs_all_replicas: bool = True, timeout_ms: int | None = None
    ) -> Pending[str]:
        return self.delayed.wait(
            end, f"to {end}", needs_all_replicas=needs_all_replicas, timeout_ms=timeout_ms
        )


def test_append_counts_when_its_bound_reaches_its_end() -> None:
    scene = Scene()
    of_leader, of_all = scene.wait(5, needs_all_replicas=False), scene.wait(5)

    scene.delayed.reach(own_end=5, high_watermark=4)
    before = of_leader.done(), of_all.done()
    scene.delayed.reach(own_end=5, high_watermark=5)

    assert (before, of_leader.result(), of_all.result()) == ((True, False), "to 5", "to 5")
    assert len(scene.delayed) == 0


def test_append_times_out_at_the_time_of_its_request() -> None:
    scene = Scene()
    append, patient = scene.wait(5, timeout_ms=1_000), scene.wait(5)

    scene.time.advance(ms=999)
    before = append.done()
    scene.time.advance(ms=1)

    assert (before, patient.done(), len(scene.delayed)) == (False, False, 1)
    with pytest.raises(RequestTimedOutError, match="after 1000 ms"):
        append.result()


def test_append_that_counts_does_not_time_out_afterwards() -> None:
    scene = Scene()
    append = scene.wait(5, timeout_ms=1_000)

    scene.delayed.reach(own_end=5, high_watermark=5)
    scene.time.advance(ms=2_000)

    assert append.result() == "to 5"


def test_too_few_replicas_fail_only_the_appends_that_need_all() -> None:
    scene = Scene()
    of_leader, of_all = scene.wait(5, needs_all_replicas=False), scene.wait(5)

    scene.delayed.fail(NotEnoughReplicasAfterAppendError("1 of 2"), only_all_replicas=True)

    assert (of_leader.done(), type(of_all.exception())) == (
        False,
        NotEnoughReplicasAfterAppendError,
    )
