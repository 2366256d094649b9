"""The machine's own time and chance."""

from cordwood.client.machine import this_machine
from tests.unit.client.fake_broker import run


def test_this_machine_waits_by_its_own_loop() -> None:
    async def scene() -> None:
        surroundings = this_machine()
        await surroundings.pause(0)
        assert 0 <= surroundings.random.fraction() < 1

    run(scene())
