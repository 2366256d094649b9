"""Tests of messages about disk errors that may pass."""

import errno

import pytest

from cordwood.storage.manager.transient_errors import DESCRIPTORS, SPACE, TransientErrors
from cordwood.testing.virtual_clock import VirtualClock


@pytest.mark.parametrize(
    ("code", "kind", "remedy"),
    (
        (errno.ENOSPC, SPACE, "free disk space"),
        (errno.EDQUOT, SPACE, "free disk space"),
        (errno.EMFILE, DESCRIPTORS, "raise the descriptor limit"),
    ),
)
def test_error_is_counted_and_reported_with_a_remedy(code: int, kind: str, remedy: str) -> None:
    events: list[str] = []
    errors = TransientErrors(VirtualClock(), events.append)

    errors.add("/a", OSError(code, "no"))
    errors.add("/a", OSError(code, "no"))

    assert errors.counts == {("/a", kind): 2}
    assert len(events) == 1
    assert events[0].startswith(f"/a: 1 requests rejected for want of {kind}")
    assert remedy in events[0]


def test_other_errors_are_not_counted() -> None:
    errors = TransientErrors(VirtualClock(), print)

    errors.add("/a", OSError(errno.EIO, "broken"))
    errors.add("/a", ValueError("wrong"))

    assert not errors.counts
