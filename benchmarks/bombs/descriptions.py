"""Requests for the largest descriptions of topics and brokers, and to create the topics."""

from collections.abc import Sequence
from typing import Final

from cordwood.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)

TIMEOUT_MS: Final = 60_000


def creation_of(topics: Sequence[str]) -> CreateTopicsRequest:
    """Return the request that creates topics of one partition."""
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=each, num_partitions=1, replication_factor=1, assignments=[], configs=[]
            )
            for each in topics
        ],
        timeout_ms=TIMEOUT_MS,
    )


def descriptions_of(kind: int, names: Sequence[str]) -> DescribeConfigsRequest:
    """Return the request for the largest description of each resource."""
    resources = [
        DescribeConfigsResource(resource_type=kind, resource_name=each, configuration_keys=None)
        for each in names
    ]
    return DescribeConfigsRequest(
        resources=resources, include_synonyms=True, include_documentation=True
    )
