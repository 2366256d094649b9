"""Ids of members have a prefix that shows whose they are."""

import re

from cordwood.coordination.groups.classic.member_ids import new_member_id
from cordwood.testing.seeded_random import SeededRandom

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def test_dynamic_member_gets_its_client_id_and_a_uuid() -> None:
    member_id = new_member_id("app", None, random=SeededRandom(1))

    assert re.fullmatch(f"app-{UUID}", member_id)


def test_static_member_gets_its_instance_id_and_a_uuid() -> None:
    member_id = new_member_id("app", "pod-1", random=SeededRandom(1))

    assert re.fullmatch(f"pod-1-{UUID}", member_id)


def test_ids_differ() -> None:
    random = SeededRandom(1)

    ids = {new_member_id("app", None, random=random) for _ in range(10)}

    assert len(ids) == 10
