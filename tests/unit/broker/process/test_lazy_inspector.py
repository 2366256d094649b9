"""Tests of the inspector that is loaded at the first batch."""

import asyncio
import logging

import pytest

from cordwood.broker.process.lazy_inspector import LazyInspector
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import DEFAULT_LIMIT
from cordwood.records.record_checks import BatchFacts, Inspector, PlainInspector
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.storage.manager_samples import HeldWorker


def test_inspector_is_plain_until_another_one_is_loaded() -> None:
    lazy = LazyInspector(InlineWorker())

    assert isinstance(lazy.get(), PlainInspector)


def test_inspector_is_loaded_once_at_the_first_batch(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
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
    assert caplog.messages == ["kernels"]


class NotedInspector(PlainInspector):
    """An inspector that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def inspect(self, batch: AnyBatch, *, limit: int = DEFAULT_LIMIT) -> BatchFacts:
        self.calls += 1
        return super().inspect(batch, limit=limit)


def test_first_call_of_a_loaded_inspector_is_made_on_the_worker() -> None:
    """The first call of kernels imports and links for 30 ms."""
    worker, noted = HeldWorker(), NotedInspector()

    async def scene() -> tuple[int, int]:
        lazy = LazyInspector(worker)
        lazy.offer(lambda: noted)
        lazy.get()
        before = noted.calls
        worker.go_on()
        return before, noted.calls

    assert asyncio.run(scene()) == (0, 1)
