"""Settings of topics, as they are given."""

from cordwood.cli.topic_settings import finder_of
from cordwood.testing.files import MemoryFiles


def test_settings_are_found_where_they_are_given() -> None:
    finder = finder_of(
        MemoryFiles(), config=["retention.ms=5", "retention.bytes=6"], broker_config=None
    )

    found = finder.of("/", None)

    assert (found.config.retention_ms, found.config.retention_bytes) == (5, 6)
