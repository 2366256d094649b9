"""Mistakes with leader epochs, planted one at a time to prove that the harness finds them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import pytest

from cordwood.broker.hosting import log_reconciliation
from cordwood.broker.hosting.leader_election import FoundLog, elect
from cordwood.broker.hosting.log_reconciliation import reconcile
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.broker.topics import topic_planning
from cordwood.core.partition_state import PartitionState
from cordwood.core.ports import MetadataStore
from cordwood.core.uuids import Uuid
from cordwood.core.znodes import ZNode, ZNodeChange
from cordwood.storage.checkpoints import clean_shutdown_file
from cordwood.storage.checkpoints.leader_epoch_cache import LeaderEpochCache
from tests.crash import administered
from tests.crash.administered import Administered
from tests.crash.broker_life import BrokerLife
from tests.crash.mistakes import MISTAKES, Plant, no_sync_of


def _not_raised(patch: pytest.MonkeyPatch) -> None:
    def as_if_clean(
        stored: PartitionState | None, log: FoundLog, *, node_id: int
    ) -> PartitionState:
        return elect(stored, log._replace(is_clean=True), node_id=node_id)

    patch.setattr(log_reconciliation, "elect", as_if_clean)


def _of_the_log(patch: pytest.MonkeyPatch) -> None:
    def derived(stored: PartitionState | None, log: FoundLog, *, node_id: int) -> PartitionState:
        epoch = -1 if log.latest_epoch is None else log.latest_epoch
        return PartitionState(
            node_id, max(0, epoch + (not log.is_clean)), (node_id,), log.directory
        )

    patch.setattr(log_reconciliation, "elect", derived)


class _LateStore:
    """Metadata that store the changes of a start later."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self.waiting: list[ZNodeChange] = []

    def get(self, path: str) -> ZNode | None:
        return self._store.get(path)

    def children(self, path: str) -> list[str]:
        return self._store.children(path)

    def multi(self, changes: Sequence[ZNodeChange]) -> None:
        self.waiting += changes

    def store(self) -> None:
        self._store.multi(self.waiting)
        self.waiting = []


def _stored_late(patch: pytest.MonkeyPatch) -> None:
    """Store the states of a start after the first append."""
    late: list[_LateStore] = []

    def reconcile_first(
        store: MetadataStore, hosting: TopicHosting, *, image: ClusterImage
    ) -> ClusterImage:
        late[:] = [_LateStore(store)]
        return reconcile(late[0], hosting, image=image)

    def storing(call: Callable[..., object], *, before: bool) -> Callable[..., object]:
        def run(life: BrokerLife, *arguments: object, **more: object) -> None:
            if before:
                late[0].store()
            call(life, *arguments, **more)
            late[0].store()

        return run

    patch.setattr(administered, "reconcile", reconcile_first)
    patch.setattr(BrokerLife, "append", storing(BrokerLife.append, before=False))
    for name in ("create", "grow", "recreate", "stop"):
        patch.setattr(BrokerLife, name, storing(getattr(BrokerLife, name), before=True))


def _marked_first(patch: pytest.MonkeyPatch) -> None:
    stop = Administered.stop

    def early(broker: Administered) -> None:
        for directory in broker.manager.directories:
            clean_shutdown_file.write_clean_shutdown(directory.files, directory.path)
        stop(broker)

    patch.setattr(Administered, "stop", early)


def _same_id(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(topic_planning, "make_uuid", lambda random: Uuid(b"always the same!"))


def _epochs_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LeaderEpochCache, "truncate_from_end", lambda cache, end: None)


MISTAKES_WITH_EPOCHS: Final[Mapping[str, Plant]] = MappingProxyType(
    {
        "an unclean start keeps the leader epoch": _not_raised,
        "the leader epoch is the latest one of the log": _of_the_log,
        "the leader epoch is stored after the partition is served": _stored_late,
        "the metadata are not synced": no_sync_of("*/cordwood.metadata*"),
        "the mark of a clean stop stays": MISTAKES["the mark of a clean stop stays"],
        "a stop is marked as clean before the logs are closed": _marked_first,
        "a recreated topic keeps its id": _same_id,
        "a truncated log keeps its later epochs": _epochs_stay,
    }
)
