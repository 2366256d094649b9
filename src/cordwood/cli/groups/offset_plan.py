"""Offsets of groups as CSV, which `--export` prints and `--from-file` reads (Kafka: `CsvUtils`).

topic,partition,offset          with one group
group,topic,partition,offset    with several
"""

import csv
import io
from collections.abc import Mapping

from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import SettingError
from cordwood.core.types import TopicPartition

Plan = Mapping[str, Mapping[TopicPartition, int]]


def plan_lines(plan: Plan, *, has_group: bool) -> list[str]:
    """Return the lines, sorted."""
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    for group in sorted(plan):
        for each in sorted(plan[group]):
            fields = (each.topic, each.partition, plan[group][each])
            lines.writerow((group, *fields) if has_group else fields)
    return written.getvalue().splitlines()


def parse_plan(text: str, *, path: str, group: str | None) -> dict[str, dict[TopicPartition, int]]:
    """Parse the lines; they name no group if `group` is given."""
    plan: dict[str, dict[TopicPartition, int]] = {}
    for number, line in enumerate(csv.reader(io.StringIO(text)), start=1):
        if not line:
            continue
        named, topic, partition, offset = _fields(line, group, where=f"{path}, line {number}")
        (each,) = partitions_of([(topic, partition)])
        plan.setdefault(named, {})[each] = offset
    return plan


def _fields(line: list[str], group: str | None, *, where: str) -> tuple[str, str, int, int]:
    try:
        named, topic, partition, offset = line if group is None else (group, *line)
        return named, topic, int(partition), int(offset)
    except ValueError:
        form = "topic,partition,offset" if group else "group,topic,partition,offset"
        raise SettingError(
            f"{where}: cannot be parsed ({','.join(line)})",
            key="from-file",
            remedy=f"write {form}",
        ) from None
