"""Names of a sink differ from those of sinks with a longer name."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.sink.exactly_once.sink_names import Incarnation, SinkNames, TaskName


def test_task_id_is_parsed_into_its_parts() -> None:
    names = SinkNames("orders.v1")

    name = names.task(Incarnation(4_711, 3), 12)

    assert name == "orders.v1-4711.3-12"
    assert names.parse_task(name) == TaskName(Incarnation(4_711, 3), 12)


@pytest.mark.parametrize("name", ("s-driver", "s-x-1.2-3", "s-1.2-3-4.5-6", "t-1.2-3", "s-1.2-x"))
def test_id_of_another_sink_is_not_parsed(name: str) -> None:
    assert SinkNames("s").parse_task(name) is None


@pytest.mark.parametrize("sink", ("", "x" * 201))
def test_name_of_a_wrong_length_is_rejected(sink: str) -> None:
    with pytest.raises(SettingError, match="characters"):
        SinkNames(sink)


def test_group_and_driver_have_the_name_of_the_sink() -> None:
    assert (SinkNames("s").group, SinkNames("s").driver) == ("s", "s-driver")
