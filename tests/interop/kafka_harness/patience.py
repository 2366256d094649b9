"""Time limits for another process to start, to answer or to end, on a busy machine.

A wait reaches its limit only on an error, so generous limits cost nothing.
"""

from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Final

PATIENCE_S: Final = 120
_BETWEEN_LOOKS_S: Final = 0.01


def wait_for_result(look: Callable[[], object], wanted: object) -> None:
    """Look until the wanted result appears.

    Kafka's brokers learn of the controller's decisions later than the client. A producer with
    acks 0 does not wait until the leader has the record.
    """
    end_s, pause = monotonic() + PATIENCE_S, Event()
    while (seen := look()) != wanted:
        assert monotonic() < end_s, f"{seen} instead of {wanted}"
        pause.wait(_BETWEEN_LOOKS_S)
