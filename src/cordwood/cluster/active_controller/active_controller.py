"""The controller in one broker: election, the role, one flow at a time (Kafka: `KafkaController`).

    no controller ──► election ──► role: fail-over, then a flow per event ──► end of the role
          ▲                                                                         │
          └───────────── another controller, or none ◄──────────────────────────────┘

    the role ends   the store rejects a write, because another controller was elected
                    the session is over
                    /controller has another broker, or none
                    this broker resigns, or a flow fails in an unexpected way: it resigns then

At its end the context and the queues of requests are discarded. The next controller continues from
the store. All of it runs in two tasks and one per broker. Each may be cancelled at any time: the
effect in progress is then applied or not, as in a crash.
"""

from asyncio import Future, get_running_loop
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from cordwood.client.network.owned_tasks import OwnedTasks
from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.broker_request_queue import BrokerAnswer
from cordwood.cluster.active_controller.controller_channel_manager import (
    ControllerChannelManager,
)
from cordwood.cluster.active_controller.controller_event_queue import ControllerEventQueue
from cordwood.cluster.active_controller.controller_events import (
    ControllerEvent,
    ControllerRequest,
    ProducerIdsWanted,
    RebalanceDue,
    Resignation,
    Submission,
    UncleanElectionsEnabled,
    flow_of,
)
from cordwood.cluster.active_controller.controller_host import (
    ControllerHost,
    ProcessingFailed,
    RoleBegun,
    RoleEnded,
)
from cordwood.cluster.active_controller.controller_settings import ActiveControllerSettings
from cordwood.cluster.active_controller.effect_performer import EffectPerformer
from cordwood.cluster.active_controller.flow_driver import (
    Advance,
    on_the_loop,
    on_worker,
    run_flow,
)
from cordwood.cluster.active_controller.metadata_fan_out import MetadataFanOut
from cordwood.cluster.channels.broker_channel import BrokerChannels
from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.effects import Effect, Flow, Respond
from cordwood.cluster.controller.failover import fail_over
from cordwood.cluster.zookeeper.client.zookeeper_errors import SessionExpiredError, ZooKeeperError
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard
from cordwood.cluster.zookeeper.store.metadata_event import (
    ControllerChanged,
    IsrChangesNotified,
    LogDirFailuresNotified,
    MetadataEvent,
    SessionExpired,
)
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.core.errors import (
    DamagedFileError,
    KafkaError,
    NotControllerError,
    StaleControllerEpochError,
)
from cordwood.core.ports import Timer, Worker
from cordwood.protocol.schema import Response

T = TypeVar("T")
R = TypeVar("R", bound=Response)

FIRST_REBALANCE_MS: Final = 5_000
ERROR_BACKOFF_MS: Final = 1_000
#: Partitions up to which a step of a flow takes less than 10 ms.
SMALL_CLUSTER: Final = 500

_DEPOSED: Final = (StaleControllerEpochError, SessionExpiredError)


@dataclass(slots=True, eq=False)
class _Role:
    """The role of the controller, from an election to its end."""

    guard: ControllerGuard
    brokers: ControllerChannelManager
    performer: EffectPerformer
    #: None during the fail-over.
    context: ClusterContext | None = None
    rebalance: Timer | None = None
    is_over: bool = False


class ActiveController:
    """The controller that one broker is, or may become.

    The broker starts it once it has registered. After the end of a session the broker begins the
    next one, registers again, and calls `begin_session`.
    """

    def __init__(
        self,
        store: ZooKeeperStore,
        channels: BrokerChannels,
        settings: ActiveControllerSettings,
        runtime: ClientRuntime,
        *,
        worker: Worker,
        host: ControllerHost,
    ) -> None:
        self._store = store
        self._on_worker = on_worker(worker)
        self._channels = channels
        self._settings = settings
        self._runtime = runtime
        self._host = host
        self._tasks = OwnedTasks()
        self._events = ControllerEventQueue()
        self._fan_out = MetadataFanOut(
            store.events, runtime, host=host, on_event=self._on_metadata_event
        )
        self._role: _Role | None = None

    # The broker's side

    @property
    def is_active(self) -> bool:
        """Return whether this broker is the controller, as far as it knows."""
        return self._role is not None and not self._role.is_over

    @property
    def epoch(self) -> int | None:
        """Return the epoch of this controller, None if it is not active."""
        role = self._role
        return role.guard.epoch if role is not None and not role.is_over else None

    def start(self) -> None:
        """Take part in elections; the session has begun, and the broker has registered."""
        self._tasks.start(self._fan_out.run())
        self._tasks.start(self._run())
        self.begin_session()

    def begin_session(self) -> None:
        """Take part in elections again, after the next session has begun."""
        self._fan_out.begin_session()

    async def stop(self) -> None:
        """End all tasks. The end of the session, by the broker, makes another broker controller."""
        if self._role is not None:
            self._role.is_over = True
        await self._tasks.close()
        await self._end_role("the broker stops")
        self._fail_callers()

    async def submit(self, request: ControllerRequest, kind: type[R], *, version: int) -> R:
        """Return the response to a request in its version.

        NotControllerError if this broker is not the controller, or stops being it meanwhile; the
        request may then have been performed.
        """
        response = await self._response(request, version)
        assert isinstance(response, kind), "a response belongs to its request"
        return response

    async def allocate_producer_ids(self, broker_id: int, *, broker_epoch: int) -> range:
        """Return the next block of producer ids, for a broker with its epoch; KafkaError."""
        block = await self._response(ProducerIdsWanted(broker_id, broker_epoch), 0)
        assert isinstance(block, range), "blocks are ranges"
        return block

    def enable_unclean_elections(self, topic: str | None = None) -> None:
        """Elect leaders, after unclean elections were enabled for a topic or by default."""
        if self.is_active:
            self._events.put(UncleanElectionsEnabled(topic))

    async def resign(self) -> None:
        """Give the role up, so that an election follows; no effect without the role."""
        if self.is_active:
            done: Future[None] = get_running_loop().create_future()
            self._events.put(Resignation(done))
            await done

    # Events

    def _on_metadata_event(self, event: MetadataEvent) -> None:
        if isinstance(event, SessionExpired) and self._role is not None:
            # A flow in progress must not continue in the next session.
            self._role.is_over = True
        self._events.put(event)

    async def _run(self) -> None:
        while True:
            event = await self._events.next()
            try:
                await self._process(event)
            except _DEPOSED as error:
                await self._give_up(str(error))
            except Exception as error:  # noqa: BLE001 - the task's owner
                self._host.on_report(ProcessingFailed(type(event).__name__, error))
                await self._start_again()
            finally:
                # Its caller waits, if the flow has ended without a response.
                self._fail(event)

    async def _process(self, event: ControllerEvent) -> None:
        role = self._role
        if isinstance(event, SessionExpired):
            # A role that is not over began in the next session, before this event had its turn.
            if role is not None and role.is_over:
                await self._end_role("the session is over")
        elif isinstance(event, ControllerChanged):
            await self._controller_changed()
        elif role is None or role.is_over:
            self._fail(event)
        elif isinstance(event, Resignation):
            await self._resign(role)
            event.done.set_result(None)
        elif role.context is not None:
            await self._run_event(role, role.context, event)

    async def _run_event(
        self, role: _Role, context: ClusterContext, event: ControllerEvent
    ) -> None:
        submission = event if isinstance(event, Submission) else None
        flow = flow_of(context, event)
        try:
            if flow is not None:
                await self._run_flow(role, flow, submission)
        except _DEPOSED:
            raise
        except (DamagedFileError, KafkaError) as error:
            self._host.on_report(ProcessingFailed(type(event).__name__, error))
            if submission is not None and isinstance(error, KafkaError):
                submission.respond(error)
        finally:
            if isinstance(event, RebalanceDue):
                self._schedule_rebalance(role, self._settings.rebalance_interval_ms)
        await self._drop_notifications(role, event)

    async def _run_flow(
        self, role: _Role, flow: Flow[T], submission: Submission | None = None
    ) -> T:
        async def perform(effect: Effect[object]) -> object:
            if role.is_over:
                raise SessionExpiredError
            if not isinstance(effect, Respond):
                return await role.performer.perform(effect)
            assert submission is not None, "only the flow of a request responds"
            submission.respond(effect.response)
            return None

        is_small = role.context is not None and len(role.context.assignments) <= SMALL_CLUSTER
        advance: Advance = on_the_loop if is_small else self._on_worker
        return await run_flow(flow, perform, advance=advance)

    async def _drop_notifications(self, role: _Role, event: ControllerEvent) -> None:
        notifications = self._store.notifications
        if isinstance(event, IsrChangesNotified):
            await notifications.drop_isr_changes(event.numbers, role.guard)
        elif isinstance(event, LogDirFailuresNotified):
            await notifications.drop_log_dir_failures(event.numbers, role.guard)

    # The role

    async def _controller_changed(self) -> None:
        # The event may be from before the election of this broker.
        controller_id = await self._store.election.controller()
        if controller_id != self._settings.broker_id:
            await self._end_role(f"the controller is {controller_id}")
        if controller_id is None:
            await self._elect()

    async def _elect(self) -> None:
        guard = await self._store.election.elect(self._settings.broker_id)
        if guard is None:
            return
        role = self._role = self._begin_role(guard)
        self._host.on_report(RoleBegun(guard.epoch))
        flow = fail_over(self._settings.decisions, epoch=guard.epoch)
        role.context = await self._run_flow(role, flow)
        if self._settings.is_rebalance_enabled:
            self._schedule_rebalance(role, FIRST_REBALANCE_MS)

    def _begin_role(self, guard: ControllerGuard) -> _Role:
        brokers = ControllerChannelManager(
            self._settings,
            self._channels,
            self._runtime,
            answered=self._put_answer,
            report=self._host.on_report,
        )
        performer = EffectPerformer(
            self._store,
            guard,
            brokers,
            followed=self._fan_out,
            random=self._runtime.random,
            host=self._host,
        )
        return _Role(guard, brokers, performer)

    async def _put_answer(self, answer: BrokerAnswer) -> None:
        if answer.has_flow:
            await self._events.put_answer(answer)

    def _schedule_rebalance(self, role: _Role, delay_ms: float) -> None:
        if not role.is_over:
            role.rebalance = self._runtime.scheduler.call_at(
                self._runtime.now_ms() + delay_ms, partial(self._events.put, RebalanceDue())
            )

    async def _end_role(self, reason: str) -> None:
        """End the role, if there is one; it stays until its queues are closed."""
        role = self._role
        if role is None:
            return
        role.is_over = True
        if role.rebalance is not None:
            role.rebalance.cancel()
        self._fan_out.unfollow_all()
        await role.brokers.close()
        self._role = None
        self._fail_callers()
        self._host.on_report(RoleEnded(role.guard.epoch, reason))

    async def _resign(self, role: _Role) -> None:
        await self._store.election.resign(role.guard)
        await self._end_role("this broker has resigned")

    async def _give_up(self, reason: str) -> None:
        """End the role, and remove the controller's node if it is still the one of this role."""
        role = self._role
        if role is not None:
            await self._end_role(reason)
            with suppress(StaleControllerEpochError, ZooKeeperError):
                await self._store.election.resign(role.guard)

    async def _start_again(self) -> None:
        """Resign after an error, and take part in the elections again after a while."""
        await self._give_up("a flow has failed")
        await self._runtime.sleep_ms(ERROR_BACKOFF_MS)
        self._events.put(ControllerChanged(None))

    # Callers

    async def _response(self, request: ControllerRequest, version: int) -> Response | range:
        if not self.is_active:
            raise NotControllerError(self._not_controller())
        response: Future[Response | range] = get_running_loop().create_future()
        self._events.put(Submission(request, version, response))
        return await response

    def _fail_callers(self) -> None:
        for event in self._events.drop_of_role():
            self._fail(event)

    def _fail(self, event: ControllerEvent) -> None:
        if isinstance(event, Submission):
            event.respond(NotControllerError(self._not_controller()))
        elif isinstance(event, Resignation) and not event.done.done():
            event.done.set_result(None)

    def _not_controller(self) -> str:
        return f"broker {self._settings.broker_id} is not the controller"
