"""Port to the changes of configurations, as the request handlers make them.

An embedded broker stores configurations itself (`config_changes`). A broker of a cluster stores
them in ZooKeeper, where any broker may change them (`cluster_admin`).
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from cordwood.broker.config.config_alterations import ConfigAlteration
from cordwood.broker.config.config_resources import ConfigResource

Assignments: TypeAlias = Sequence[tuple[str, str | None]]


class ConfigAdministration(Protocol):
    """Changes of configurations, stored before they are applied; all of a resource or none."""

    async def alter(
        self,
        resource: ConfigResource,
        alterations: Sequence[ConfigAlteration],
        *,
        validate_only: bool,
    ) -> None:
        """Apply alterations to a resource, all of them or none."""

    async def replace(
        self, resource: ConfigResource, assignments: Assignments, *, validate_only: bool
    ) -> None:
        """Replace the whole configuration of a resource."""

    async def refresh(self, resources: Sequence[ConfigResource]) -> None:
        """Apply the stored configurations of resources that other brokers may have changed."""
