"""Topic settings from the command line."""

from cordwood.cli.topic_config_options import settings_finder
from cordwood.testing.memory_files import MemoryFiles


def test_configured_settings_are_used() -> None:
    finder = settings_finder(
        MemoryFiles(), config=["retention.ms=5", "retention.bytes=6"], broker_config=None
    )

    found = finder.find("/", None)

    assert (found.config.retention_ms, found.config.retention_bytes) == (5, 6)
