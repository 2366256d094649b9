"""Tests of the inspector that is loaded at the first batch."""

import asyncio

from cordwood.broker.process.lazy_inspector import LazyInspector
from cordwood.records.record_checks import Inspector, PlainInspector
from cordwood.testing.inline_worker import InlineWorker


def test_inspector_is_plain_until_another_one_is_loaded() -> None:
    lazy = LazyInspector(InlineWorker())

    assert isinstance(lazy.get(), PlainInspector)


def test_inspector_is_loaded_once_at_the_first_batch() -> None:
    loaded: list[Inspector] = []

    def load() -> Inspector:
        loaded.append(PlainInspector())
        return loaded[0]

    async def scene() -> tuple[Inspector, int, Inspector, Inspector]:
        lazy = LazyInspector(InlineWorker())
        lazy.offer(load)
        loaded_before = len(loaded)
        first = lazy.get()
        await asyncio.sleep(0)
        return first, loaded_before, lazy.get(), lazy.get()

    first, loaded_before, second, third = asyncio.run(scene())

    assert loaded_before == 0
    assert first is not second
    assert second is third is loaded[0]
    assert len(loaded) == 1
