"""Views of the sources, taken again while the sources stay open."""

from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.core.system import SystemFiles
from cordwood.spark.source.source_options import SourceOptions, TopicChoice
from cordwood.spark.source.source_view import open_sources
from tests.unit.client.fake_broker import served
from tests.unit.spark.stream.stream_samples import T0, T1, extend_log, records, write_log

FILES = SystemFiles()
TOPICS = TopicChoice(names=frozenset({"t"}))


def test_view_of_directories_is_taken_again(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 3))
    with open_sources(FILES, SourceOptions(paths=(str(tmp_path),))) as sources:
        before = sources.view()
        extend_log(tmp_path, records(3, 5))
        write_log(tmp_path, records(0, 1), partition=1)
        after = sources.view()

    assert {each: extent.end for each, extent in before.extents.items()} == {T0: 3}
    assert {each: extent.end for each, extent in after.extents.items()} == {T0: 5, T1: 1}


def test_view_of_brokers_is_taken_again_by_the_same_clients() -> None:
    with served(t=1) as fake:
        options = SourceOptions(servers=fake.address, topics=TOPICS)
        with open_sources(FILES, options) as sources:
            fake.ends["t", 0] = 3
            before = sources.view()
            fake.ends["t", 0], fake.topics["t"] = 5, 2
            after = sources.view()

    assert (before.extents[T0].end, after.extents[T0].end) == (3, 5)
    assert set(after.extents) == {T0, T1}
    assert list(after.topic_ids) == ["t"]


def test_missing_topic_is_rejected_unless_the_view_is_unchecked(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 3))
    missing = TopicChoice(names=frozenset({"u"}))
    with open_sources(FILES, SourceOptions(paths=(str(tmp_path),), topics=missing)) as sources:
        with pytest.raises(SettingError, match="topic 'u' does not exist"):
            sources.view()
        assert sources.view(is_checked=False).extents == {}
