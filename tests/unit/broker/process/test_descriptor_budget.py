"""Tests of the shares of a process's descriptors."""

import resource

import pytest

from cordwood.broker.process.descriptor_budget import DescriptorBudget, raise_descriptor_limit


@pytest.mark.parametrize(
    ("limit", "files", "connections"),
    (
        (8, 4, 1),
        (256, 128, 32),
        (1_024, 512, 192),
        (10_240, 2_560, 3_776),
        (1 << 20, 262_144, 393_152),
    ),
)
def test_files_and_connections_share_the_limit(limit: int, files: int, connections: int) -> None:
    assert DescriptorBudget.of(limit) == (files, connections)
    assert files + 2 * connections <= limit


@pytest.mark.parametrize(
    ("limit", "files", "connections"),
    ((8, 2, 1), (256, 64, 32), (1_024, 200, 174), (20_000, 200, 4_918)),
)
def test_broker_in_a_program_leaves_descriptors_to_clients_and_the_program(
    limit: int, files: int, connections: int
) -> None:
    assert DescriptorBudget.beside_others(limit) == (files, connections)
    assert files + 3 * connections <= limit


@pytest.mark.parametrize(("soft", "connections"), ((1_024, 174), (resource.RLIM_INFINITY, 262_062)))
def test_program_keeps_its_own_limit(
    monkeypatch: pytest.MonkeyPatch, soft: int, connections: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, resource.RLIM_INFINITY))
    monkeypatch.delattr(resource, "setrlimit")

    assert DescriptorBudget.of_program().connections == connections


@pytest.mark.parametrize(
    ("hard", "granted", "expected"),
    (
        (4_096, 4_096, 4_096),
        (resource.RLIM_INFINITY, 1 << 20, 1 << 20),
        (resource.RLIM_INFINITY, 10_240, 10_240),
        (resource.RLIM_INFINITY, 256, 256),
    ),
)
def test_serve_has_as_many_descriptors_as_the_system_grants(
    monkeypatch: pytest.MonkeyPatch, hard: int, granted: int, expected: int
) -> None:
    def grant(_: int, limits: tuple[int, int]) -> None:
        if limits[0] > granted:
            raise ValueError(limits)

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, hard))
    monkeypatch.setattr(resource, "setrlimit", grant)

    assert raise_descriptor_limit() == expected
