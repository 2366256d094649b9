"""The time of the network: what peers wait for is measured in real time.

The logs of a broker have a clock of their own, which a test may move; a long poll, a request's
timeout and an idle connection go by this one.
"""

from typing import NamedTuple

from cordwood.core.ports import Clock, Scheduler


class Network(NamedTuple):
    """A clock, and the scheduler whose `call_at` goes by it."""

    clock: Clock
    scheduler: Scheduler
