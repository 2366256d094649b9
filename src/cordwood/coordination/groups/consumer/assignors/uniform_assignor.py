"""Assignor `uniform`: balanced and sticky (Kafka: `UniformAssignor`)."""

from cordwood.coordination.groups.consumer.assignors.group_spec import GroupAssignment, GroupSpec
from cordwood.coordination.groups.consumer.assignors.heterogeneous_assignment import (
    HeterogeneousAssignment,
)
from cordwood.coordination.groups.consumer.assignors.homogeneous_assignment import (
    assign_homogeneous,
)


class UniformAssignor:
    """The assignor `uniform`."""

    @property
    def name(self) -> str:
        return "uniform"

    def assign(self, spec: GroupSpec) -> GroupAssignment:
        if not spec.members:
            return {}
        if spec.is_homogeneous:
            return assign_homogeneous(spec)
        return HeterogeneousAssignment(spec).assign()
