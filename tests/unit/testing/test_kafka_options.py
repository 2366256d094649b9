"""Options of a test's broker, by name."""

import pytest

from cordwood.testing import KafkaOptions
from cordwood.testing.kafka_options import options_of


def test_options_are_given_by_name() -> None:
    options = options_of({"auto_create": False, "files": "disk"}, owner="the mark kafka")

    assert options == KafkaOptions(auto_create=False, files="disk")
    assert options.is_on_disk
    assert not KafkaOptions().is_on_disk


@pytest.mark.parametrize(
    ("name", "remedy"),
    (
        ("autocreate", "did you mean auto_create"),
        ("partitions", "kafka.create_topic"),
        ("xyz", "it takes auto_create, config, files, directory"),
    ),
)
def test_unknown_option_is_rejected_with_a_remedy(name: str, remedy: str) -> None:
    with pytest.raises(TypeError, match=f"the mark kafka has no argument {name!r}.*{remedy}"):
        options_of({name: 1}, owner="the mark kafka")


def test_unknown_place_of_files_is_rejected() -> None:
    with pytest.raises(ValueError, match="choose one of memory, disk"):
        KafkaOptions(files="dsk")
