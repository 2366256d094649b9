"""A call ends at its limit, with the error that explains it best."""

import asyncio

import pytest

from cordwood.client.network.api_call import ApiCall
from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.core.errors import (
    CordwoodError,
    InvalidTopicError,
    LeaderNotAvailableError,
    RequestTimedOutError,
)
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.client.fake_broker import run
from tests.unit.client.virtual_time import Outcome, VirtualTime

LIMIT_MS = 500
HANG = None


def outcome(*steps: CordwoodError | str | None, refreshes: bool = True) -> Outcome:
    """Return the outcome of a call whose attempts raise, hang or return these."""

    async def scene() -> Outcome:
        time, left = VirtualTime(), list(steps)
        runtime = time.runtime()
        backoff = ExponentialBackoff(10, 100, random=SeededRandom(1))

        async def forever() -> str:
            await asyncio.get_running_loop().create_future()
            return "never"

        async def attempt() -> str:
            step = left.pop(0)
            if isinstance(step, CordwoodError):
                raise step
            return await forever() if step is None else step

        async def refresh() -> None:
            if not refreshes:
                await forever()

        call = ApiCall(runtime, backoff, refresh)
        return await time.outcome(
            call.run(
                attempt,
                limit_ms=LIMIT_MS,
                subject="cluster",
                awaited=lambda: " (no answer from b:1)",
            ),
            60_000,
        )

    return run(scene())


def test_result_is_returned_after_errors_that_pass() -> None:
    assert outcome(LeaderNotAvailableError(), LeaderNotAvailableError(), "done").result == "done"


def test_attempt_that_hangs_ends_at_the_limit_and_names_the_broker() -> None:
    found = outcome(HANG)

    assert isinstance(found.error, RequestTimedOutError)
    assert "cluster: no result within 500 ms (no answer from b:1)" in str(found.error)
    assert found.took_ms == LIMIT_MS


@pytest.mark.parametrize("refreshes", (True, False))
def test_error_before_the_wait_is_the_error_of_the_call(refreshes: bool) -> None:  # noqa: FBT001 - a parameter of the test
    found = outcome(LeaderNotAvailableError("t-0"), HANG, refreshes=refreshes)

    assert isinstance(found.error, LeaderNotAvailableError)
    assert found.error.__notes__ == ["tried for 500 ms, 1 times"]
    assert found.took_ms == LIMIT_MS


def test_permanent_error_is_raised_at_once() -> None:
    found = outcome(InvalidTopicError("t"))

    assert isinstance(found.error, InvalidTopicError)
    assert found.took_ms == 0
