"""State of one partition of an internal topic, for the runtime (Kafka: `CoordinatorShard`).

loading   replay, replay_marker for each stored batch, then on_topics, then finish_load
active    methods of requests, on_timer, on_topics; replay follows each append
closed    close gives the answers of all requests that wait; no call follows
"""

from typing import Protocol

from cordwood.coordination.coordinator_record import StoredMarker, StoredRecord
from cordwood.coordination.outcome import Outcome, TimerKey
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import KafkaError


class CoordinatorShard(Protocol):
    """A pure state machine over the records of one partition."""

    def replay(self, stored: StoredRecord) -> None:
        """Change the state by a record that the log has."""

    def replay_marker(self, stored: StoredMarker) -> None:
        """Change the state by the end of a transaction in the partition."""

    def finish_load(self, now_ms: int) -> Outcome:
        """Return the timers of the loaded state, and what must be resumed."""

    def on_timer(self, key: TimerKey, now_ms: int) -> Outcome:
        """Return the outcome of a timer that is due; the timer is not set any more."""

    def on_topics(self, view: TopicView, now_ms: int) -> Outcome:
        """Return the outcome of a change of topics."""

    def close(self, error: KafkaError) -> Outcome:
        """Return answers for all requests that wait; its records are not appended."""
