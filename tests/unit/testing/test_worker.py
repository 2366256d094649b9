"""The inline worker has done its work when it returns."""

from cordwood.testing.worker import InlineWorker


def test_inline_worker_is_done_when_submit_returns() -> None:
    seen: list[int] = []

    pending = InlineWorker().submit(lambda: seen.append(1))

    assert pending.done()
    assert seen == [1]
