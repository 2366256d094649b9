"""Report of periodic tasks that have failed for one log; the other logs are handled."""

import traceback
from collections.abc import Callable

from cordwood.core.errors import KafkaError
from cordwood.core.types import TopicPartition


class TaskFailures:
    """Reports each failure to the operator by `on_event`, and counts it by `on_task_failure`."""

    def __init__(
        self, on_event: Callable[[str], object], on_task_failure: Callable[[], object]
    ) -> None:
        self._on_event = on_event
        self._on_task_failure = on_task_failure

    def report(self, partition: TopicPartition, error: BaseException) -> None:
        """Report the failure of a task on a partition's log."""
        self._on_task_failure()
        self._on_event(f"{partition}: maintenance failed: {_reason(error)}")


def _reason(error: BaseException) -> str:
    """Return the text of an error; for an unexpected one its type and its place in the code too."""
    if isinstance(error, KafkaError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r} at {place.filename}:{place.lineno}"
