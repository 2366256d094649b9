"""The inline worker runs a call before `submit` returns."""

from cordwood.core.ports import Lane
from cordwood.testing.inline_worker import InlineWorker


def test_inline_worker_is_done_when_submit_returns() -> None:
    seen: list[int] = []

    pending = InlineWorker().submit(lambda: seen.append(1), lane=Lane.READ)

    assert pending.done()
    assert seen == [1]
