"""Messages of clients are printed while a command runs, and not after it."""

import logging

import pytest

from cordwood.cli.client_messages import shown_client_messages

LOGGER = logging.getLogger("cordwood.client.network.network_client")


def test_messages_are_printed_while_the_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_client_messages():
        LOGGER.warning("broker %s cannot be reached", "a:1")
        LOGGER.info("broker a:1 can be reached again")
        LOGGER.debug("a detail")
    LOGGER.info("later")

    assert capsys.readouterr().err == (
        "cordwood: broker a:1 cannot be reached\ncordwood: broker a:1 can be reached again\n"
    )
