"""Runtime of a node without threads and processes: every call is done when it returns."""

from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.core.ports import Clock, Files, LoopPorts, Random, Scheduler
from cordwood.node.runtime import NodeRuntime
from cordwood.testing.inline_worker import InlineWorker


def inline_runtime(
    files: Files,
    *,
    clock: Clock,
    scheduler: Scheduler,
    random: Random,
    network_clock: Clock | None = None,
    network_scheduler: Scheduler | None = None,
) -> NodeRuntime:
    """Return a runtime over these ports; by default the network has the logs' clock."""
    return NodeRuntime(
        ports=LoopPorts(
            files=files, clock=clock, random=random, scheduler=scheduler, worker=InlineWorker()
        ),
        network_clock=network_clock or clock,
        network_scheduler=network_scheduler or scheduler,
        cleaner_runner=InlineRunner(files, PLAIN),
        cleaner_worker=InlineWorker(),
    )
