"""Random requests of members with both protocols, whose group is converted again and again."""

import random
from typing import Final

from tests.interop.kafka_harness.classic_script import ClassicScript
from tests.interop.kafka_harness.consumer_script import ConsumerScript
from tests.interop.kafka_harness.group_twins import GroupTwins

#: Shares of the consumer protocol in the requests of a phase; 0 lets its members leave.
_SHARES: Final = (0.0, 0.3, 0.6)
_PHASE: Final = 15
#: The share of JoinGroup requests that arrive again, in the requests of the classic protocol.
_LATE_JOINS: Final = 0.08


class MixedScript:
    """The clients of one seed, in phases in which one protocol prevails."""

    def __init__(self, twins: GroupTwins, source: random.Random) -> None:
        self._random = source
        self._classic = ClassicScript(twins, source, clients=(1, 2, 3, 4), late_joins=_LATE_JOINS)
        self._consumer = ConsumerScript(twins, source, clients=(2, 4, 5))
        self._share = source.choice(_SHARES)
        self._steps = 0

    def step(self) -> None:
        """Send one random request."""
        self._steps += 1
        if self._steps % _PHASE == 0:
            self._share = self._random.choice(_SHARES)
        members = [each for each in self._consumer.clients if each.is_member]
        if self._random.random() < self._share:
            self._consumer.step()
        elif not self._share and members:
            self._consumer.leave(self._random.choice(members))
        else:
            self._classic.step()
