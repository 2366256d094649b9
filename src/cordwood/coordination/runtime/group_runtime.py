"""Shards of `__consumer_offsets`: also the regular expressions of consumer groups.

Kafka: `TopicRegexResolver`, and the executor of `CoordinatorRuntime`. An expression is matched with
all topics on the worker; its result is another event of the shard.
"""

from functools import partial

from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.groups.consumer.topics.regex_resolution import RegexResolution
from cordwood.coordination.outcome import Outcome
from cordwood.coordination.runtime.active_shard import ActiveShard
from cordwood.coordination.runtime.coordinator_context import CoordinatorContext
from cordwood.coordination.runtime.coordinator_runtime import CoordinatorRuntime
from cordwood.coordination.runtime.pending_result import result_of
from cordwood.core.ports import Lane


class GroupRuntime(CoordinatorRuntime[GroupShard]):
    """The group coordinators of this broker."""

    def perform(self, context: CoordinatorContext[GroupShard], outcome: Outcome) -> None:
        del outcome
        active = context.active
        if active is None or active.long.is_computing:
            return  # the end of the long event performs
        for resolution in active.shard.take_due_resolutions():
            self.tasks.begin(self._resolve(active, resolution))

    async def _resolve(self, active: ActiveShard[GroupShard], due: RegexResolution) -> None:
        """Match the expressions of a group; without a result the group may ask again."""
        resolve = partial(due.resolve, self.ports.clock.now_ms())
        try:
            resolved = await result_of(self.ports.worker.submit(resolve, lane=Lane.COMPUTE))
        except Exception:
            active.run(
                lambda shard, now_ms: shard.on_regexes_resolved(due.group_id, {}, now_ms=now_ms)
            )
            raise
        active.run(
            lambda shard, now_ms: shard.on_regexes_resolved(due.group_id, resolved, now_ms=now_ms)
        )
