"""Kernels are loaded when the first batch comes, and used from then on."""

import asyncio

from cordwood.broker.late_inspector import LateInspector
from cordwood.records.inspect import Inspector, PlainInspector
from cordwood.testing.worker import InlineWorker


def test_inspector_is_the_plain_one_until_another_is_offered() -> None:
    late = LateInspector(InlineWorker())

    assert isinstance(late.now(), PlainInspector)


def test_inspector_is_loaded_once_when_a_first_batch_comes() -> None:
    loaded: list[Inspector] = []

    def load() -> Inspector:
        loaded.append(PlainInspector())
        return loaded[0]

    async def scene() -> tuple[Inspector, int, Inspector, Inspector]:
        late = LateInspector(InlineWorker())
        late.offer(load)
        loaded_before = len(loaded)
        first = late.now()
        await asyncio.sleep(0)
        return first, loaded_before, late.now(), late.now()

    first, loaded_before, second, third = asyncio.run(scene())

    assert loaded_before == 0
    assert first is not second
    assert second is third is loaded[0]
    assert len(loaded) == 1
