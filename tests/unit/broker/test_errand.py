"""An errand is run once at a time, cut off at the end, and begun anew after it has failed."""

import asyncio

import pytest

from cordwood.broker.errand import Errand
from tests.unit.broker.broker_samples import run


def test_errand_is_not_begun_while_it_is_under_way() -> None:
    begun = list[int]()

    async def scene() -> None:
        over = asyncio.Event()

        async def do() -> None:
            begun.append(len(begun))
            await over.wait()

        errand = Errand(do)
        for _ in range(3):
            errand.begin()
            await asyncio.sleep(0)
        over.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        errand.begin()
        await asyncio.sleep(0)

    run(scene())

    assert begun == [0, 1]


def test_errand_that_is_stopped_has_ended() -> None:
    ended = list[str]()

    async def scene() -> None:
        async def do() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("ended")

        errand = Errand(do)
        errand.begin()
        await asyncio.sleep(0)
        await errand.stop()

    run(scene())

    assert ended == ["ended"]


def test_errand_that_fails_is_told_of_and_begun_again(caplog: pytest.LogCaptureFixture) -> None:
    tried = list[int]()

    async def scene() -> None:
        async def do() -> None:
            tried.append(1)
            raise OSError("no")

        errand = Errand(do)
        for _ in range(2):
            errand.begin()
            await asyncio.sleep(0)
        await errand.stop()

    run(scene())

    assert len(tried) == 2
    assert [each.message for each in caplog.records] == ["errand failed"] * 2
