"""Leaders that the controller has elected, until the image has them (Kafka: `DelayedElectLeader`).

    preferred    the first replica leads
    unclean      any replica leads

Kafka's controller returns each leader to the broker that waits; these are the leaders that it can
have elected. A partition that has been deleted meanwhile has none.
"""

from collections.abc import Iterator
from typing import Final

from cordwood.broker.metadata.metadata_image import NO_LEADER, ClusterImage
from cordwood.core.errors import RequestTimedOutError
from cordwood.protocol.messages.elect_leaders import ElectLeadersResponse, PartitionResult

_PREFERRED: Final = 0


class ElectedLeaders:
    """The elections of a response that have succeeded."""

    def __init__(self, response: ElectLeadersResponse, election_type: int) -> None:
        self._is_preferred = election_type == _PREFERRED
        self._elected = [
            (topic.topic, result)
            for topic in response.replica_election_results
            for result in topic.partition_result
            if not result.error_code
        ]

    def are_known(self, image: ClusterImage) -> bool:
        """Return whether an image has all the leaders."""
        return next(self._unknown(image), None) is None

    def time_out(self, image: ClusterImage) -> None:
        """Let the response have REQUEST_TIMED_OUT for the leaders that an image does not have."""
        for result in self._unknown(image):
            result.error_code = RequestTimedOutError.code

    def _unknown(self, image: ClusterImage) -> Iterator[PartitionResult]:
        for topic, result in self._elected:
            found = image.topics.get(topic)
            if found is None or result.partition_id >= len(found.partitions):
                continue
            state = found.partitions[result.partition_id]
            is_led = state.leader != NO_LEADER
            if self._is_preferred:
                is_led = state.leader == state.replicas[0]
            if not is_led:
                yield result
