"""Generator of docs/damage.md from the kinds of damage; a test compares the page with them.

python -m tests.damage.page            the page, with Kafka's answers as they are known
python -m tests.damage.page --kafka    Kafka 4.3 opens every directory first (Java and Maven)
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.damage.kinds import Kind
from tests.damage.outcomes import kafka_words, salvage_words, verification, verify_words
from tests.damage.rows import kinds

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "damage.md"
ANSWERS: Final = Path(__file__).with_name("kafka_answers.json")

INTRODUCTION: Final = """\
# Damage, and what it does
This page is written by `python -m tests.damage.page`; `tests/test_damage_page.py` makes each damage
again and compares the page. Each row changes one small partition: three segments, 27 records in the
plain logs. The broker had stopped in order except in rows with *crash*, and the files of its log
directory are there except in rows with *copied alone*.

- **verify** is `cordwood log verify` on the log directory. A *damage* ends it with exit code 1.
- **salvage** is `cordwood log salvage`: how many of the healthy log's records are in the new
  directory, and which offsets its report lists.
- **Kafka 4.3** is what its own log classes did, run on the same files
  (`tests/interop/test_damaged_logs_with_kafka.py`): they open the partition as `LogManager` does at
  a start, and read it as consumers of both isolation levels do. A checkpoint file that Kafka cannot
  read counts as empty. The answer is about the one partition, also in rows with other directories.

Rows under *Nothing is wrong* are states that brokers, cleaners and copies leave.
"""
_HEAD: Final = "| damage | log | verify | salvage | Kafka 4.3 |\n|---|---|---|---|---|"


def page() -> str:
    """Return the whole page."""
    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    rows = list(kinds())
    wrong = [_row(kind, answers) for kind in rows if not kind.is_harmless]
    harmless = [_row(kind, answers) for kind in rows if kind.is_harmless]
    return "\n".join(
        [
            INTRODUCTION,
            f"## Damage\n{len(wrong)} rows.\n",
            _HEAD,
            *wrong,
            f"\n## Nothing is wrong\n{len(harmless)} rows.\n",
            _HEAD,
            *harmless,
            "",
        ]
    )


def key_of(kind: Kind) -> str:
    """Return the key of a row among Kafka's answers."""
    return f"{kind.log}: {kind.title}"


def _row(kind: Kind, answers: dict[str, str]) -> str:
    healthy, damaged = kind.apply()
    cells = (
        kind.title,
        kind.log,
        verify_words(verification(damaged)),
        salvage_words(damaged, healthy),
        answers[key_of(kind)],
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def ask_kafka() -> dict[str, str]:
    """Return Kafka's answers in words, for all rows."""
    from tests.interop.kafka_harness.damaged_logs import DamagedLogs  # noqa: PLC0415  # Java
    from tests.interop.kafka_harness.jars import fetch  # noqa: PLC0415  # Maven

    with tempfile.TemporaryDirectory() as folder, DamagedLogs(fetch("kafka-4.3.0")) as kafka:
        return {
            key_of(kind): kafka_words(
                kafka.answer(kind, Path(folder) / str(number)), kind.apply()[0]
            )
            for number, kind in enumerate(kinds())
        }


def main(arguments: list[str]) -> None:
    """Write the page, and Kafka's answers before if they are asked for."""
    if "--kafka" in arguments:
        ANSWERS.write_text(json.dumps(ask_kafka(), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
