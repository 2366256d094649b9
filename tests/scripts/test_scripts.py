"""Transcript tests: every script of a family prints what is written in it.

CORDWOOD_REWRITE=1 python -m pytest tests/scripts      writes the printed outcomes into the files
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from scripts import prose
from tests.scripts import transcript
from tests.scripts.classic_group_commands import ClassicGroupCommands
from tests.scripts.cleaner_commands import CleanerCommands
from tests.scripts.consumer_group_commands import ConsumerGroupCommands
from tests.scripts.controller_commands import ControllerCommands
from tests.scripts.delivery_commands import DeliveryCommands
from tests.scripts.fetch_session_commands import FetchSessionCommands
from tests.scripts.fetcher_commands import FetcherCommands
from tests.scripts.image_commands import ImageCommands
from tests.scripts.in_sync_commands import InSyncCommands
from tests.scripts.log_commands import LogCommands
from tests.scripts.membership_commands import MembershipCommands
from tests.scripts.offset_commands import OffsetCommands
from tests.scripts.partition_commands import PartitionCommands
from tests.scripts.position_commands import PositionCommands
from tests.scripts.producer_commands import ProducerCommands
from tests.scripts.transaction_commands import TransactionCommands
from tests.scripts.transactional_producer_commands import TransactionalProducerCommands

FOLDER: Final = Path(__file__).parent
FAMILIES: Final[Mapping[str, Callable[[], object]]] = {
    "log": LogCommands,
    "fetch_sessions": FetchSessionCommands,
    "producers": ProducerCommands,
    "cleaner": CleanerCommands,
    "positions": PositionCommands,
    "partition": PartitionCommands,
    "images": ImageCommands,
    "controller": ControllerCommands,
    "in_sync": InSyncCommands,
    "fetcher": FetcherCommands,
    "deliveries": DeliveryCommands,
    "membership": MembershipCommands,
    "transactional_producer": TransactionalProducerCommands,
    "transactions": TransactionCommands,
    "groups/classic": ClassicGroupCommands,
    "groups/consumer": ConsumerGroupCommands,
    "groups/offsets": OffsetCommands,
}
"""Commands by the folder of a script; a folder with several families has their first words."""
SCRIPTS: Final = sorted(FOLDER.rglob("*.txt"))
LINE_LENGTH: Final = 100
IS_REWRITING: Final = os.environ.get("CORDWOOD_REWRITE") == "1"


def family_of(path: Path) -> str:
    """Return the family of a script."""
    folder, first_word = path.parent.name, path.stem.partition("_")[0]
    return folder if folder in FAMILIES else f"{folder}/{first_word}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_script_prints_its_outcomes(path: Path) -> None:
    transcript.check(path, FAMILIES[family_of(path)], is_rewriting=IS_REWRITING)


@pytest.mark.parametrize("family", FAMILIES)
def test_family_has_at_least_four_scripts_with_a_comment_on_top(family: str) -> None:
    scripts = [path for path in SCRIPTS if family_of(path) == family]

    assert len(scripts) >= 4
    assert all(path.read_text(encoding="utf-8").startswith("# ") for path in scripts)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_comments_of_a_script_are_plain_english(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = "\n".join(
        line.removeprefix("#").strip() if line[:1] == "#" else "" for line in lines
    )

    assert list(prose.check_prose(comments, line=1)) == []
    assert max(map(len, lines)) <= LINE_LENGTH
