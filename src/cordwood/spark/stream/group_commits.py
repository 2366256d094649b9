"""Offsets of finished batches in a consumer group, so that Kafka's tools show the lag.

Spark passes the end of batch N to `latestOffset` after the commit log has N. That is the first
call that proves batch N finished, so its offsets are committed there, and never earlier. The last
batch of an AvailableNow query is committed too. After a restart, so is the last batch of the query
that was stopped. A query with Trigger.Once makes no such call after its only batch.

Only partitions that the brokers have are committed: one that was deleted makes a commit fail.

The commit is a plain OffsetCommit without membership. It is a view for tools and not the truth, so
a failure is logged and counted and does not fail the query. After one, commits pause for a while.
"""

import logging
from collections.abc import Mapping
from typing import Final

from cordwood.client.blocking import Admin
from cordwood.client.settings import shared_options
from cordwood.core.errors import CordwoodError, UnknownMemberIdError
from cordwood.core.ports import Clock
from cordwood.spark.source.source_options import Offsets, SourceOptions

_log: Final = logging.getLogger("cordwood.spark.stream")

#: A trigger waits at most this long for the coordinator.
_TIMEOUT_MS: Final = 5_000
#: Time without attempts after a failure.
_PAUSE_MS: Final = 30_000


class GroupCommitter:
    """Commits positions to one group; `failures` counts the commits that failed."""

    def __init__(self, group_id: str, options: SourceOptions, clock: Clock) -> None:
        self._group_id = group_id
        self._config = _config(options)
        self._clock = clock
        self._committed: Offsets = {}
        self._retry_at_ms: float = 0
        self._admin: Admin | None = None
        self.failures = 0

    def commit(self, positions: Offsets) -> None:
        """Commit the positions that differ from the last commit."""
        changed: dict[tuple[str, int], int] = {
            each: offset
            for each, offset in positions.items()
            if self._committed.get(each) != offset
        }
        if not changed or self._clock.monotonic_ms() < self._retry_at_ms:
            return
        try:
            self._client().alter_group_offsets(self._group_id, changed)
        except (CordwoodError, OSError) as error:
            self.failures += 1
            self._retry_at_ms = self._clock.monotonic_ms() + _PAUSE_MS
            _log.warning("group %r: offsets are not committed: %s", self._group_id, _reason(error))
        else:
            self._committed = dict(positions)

    def close(self) -> None:
        """Close the client."""
        if self._admin is not None:
            self._admin.close()

    def _client(self) -> Admin:
        if self._admin is None:
            self._admin = Admin.from_config(self._config)
        return self._admin


def _config(options: SourceOptions) -> Mapping[str, str]:
    return {
        **shared_options(options.client),
        "bootstrap.servers": options.servers,
        "default.api.timeout.ms": str(_TIMEOUT_MS),
        "request.timeout.ms": str(_TIMEOUT_MS),
    }


def _reason(error: Exception) -> str:
    if isinstance(error, UnknownMemberIdError):
        return f"the name is taken by a group with running members; choose another ({error})"
    return str(error)
