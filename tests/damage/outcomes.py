"""Outcomes of a damage: what verify reports, what salvage keeps, and Kafka's answer in words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError, CordwoodError
from cordwood.core.ports import Ports
from cordwood.records.batch_stream import batches
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.number_ranges import consecutive_ranges
from cordwood.workbench.salvage.salvage import SalvageOptions, salvage
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verify.findings import Severity, Verification
from cordwood.workbench.verify.verify import verify
from tests.damage.healthy_logs import HealthyLog
from tests.damage.kinds import DamagedLog
from tests.unit.storage.log_samples import DIRECTORY, SMALL

_SHOWN: Final = 2


class LogRecord(NamedTuple):
    """A record of a log, as far as outcomes compare it."""

    offset: int
    key: str
    value: str


def placed(log: DamagedLog) -> MemoryFiles:
    """Return a file system with the log directory of a damaged log."""
    files = MemoryFiles(VirtualClock())
    folders = {"/d": log.beside, DIRECTORY: log.files}
    folders |= {f"/d/{name}": contents for name, contents in log.also.items()}
    for folder, contents in folders.items():
        files.make_directory(folder)
        for name, data in contents.items():
            files.create(f"{folder}/{name}").append(data)
    return files


def written(folder: Path, log: DamagedLog) -> Path:
    """Write the log directory to disk; return the partition's directory."""
    for path, contents in ((folder, log.beside), (folder / "t-0", log.files)):
        path.mkdir(parents=True, exist_ok=True)
        for name, data in contents.items():
            (path / name).write_bytes(data)
    return folder / "t-0"


def verification(log: DamagedLog) -> Verification:
    """Verify the log directory; the policy of the topic is given."""
    files = placed(log)
    settings = SettingsFinder(files, given={"cleanup.policy": log.policy})
    is_alone = not log.beside and not log.also
    return verify(files, [DIRECTORY if is_alone else "/d"], settings=settings)


def verify_words(found: Verification) -> str:
    """Return the first findings as text, damages first."""
    findings = sorted(found.all_findings, key=lambda each: each.severity is Severity.NOTE)
    if not findings:
        return "good"
    shown = [f"{each.severity}: `{_short(each.path)}`: {each.cause}" for each in findings[:_SHOWN]]
    more = len(findings) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])])


def records_of(files: Mapping[str, bytes]) -> list[LogRecord]:
    """Return the records of all segments, without control records."""
    found = []
    for name in sorted(name for name in files if name.endswith(".log")):
        for batch in batches(files[name]):
            if not batch.is_control:
                found += [
                    LogRecord(each.offset, _text(each.key), _text(each.value))
                    for each in batch.records()
                ]
    return found


def salvage_words(log: DamagedLog, healthy: HealthyLog) -> str:
    """Return what salvage keeps of the healthy log's records, and what it reports of the others."""
    files = placed(log)
    ports = Ports(files=files, clock=VirtualClock(), random=SeededRandom(1))
    try:
        report = salvage(ports, DIRECTORY, out="/out", options=SalvageOptions(config=SMALL))
    except CordwoodError as error:
        return f"refuses: {_first_words(error)}"
    names = files.list(report.path)
    try:
        kept = records_of({name: _content(files, f"{report.path}/{name}") for name in names})
    except BadRecordsError:
        return "a directory with an unreadable batch"
    known = set(records_of(healthy.files))
    same = sum(each in known for each in kept)
    words = [f"{same} of {len(known)} records"]
    if same < len(kept):
        words.append(f"{len(kept) - same} others")
    for title in ("lost", "doubtful", "mended", "gaps"):
        ranges = [(each.first, each.last) for each in getattr(report, title)]
        if ranges:
            words.append(f"{title} {_ranges(ranges)}")
    return "; ".join(words)


def kafka_words(answer: Mapping[str, object], healthy: HealthyLog) -> str:
    """Return Kafka's answer as text, compared with the healthy log's records."""
    files = [f"{name}: {said}" for name, said in answer.items() if name.endswith("checkpoint")]
    if "refused" in answer:
        return "; ".join([*files, f"does not open: {answer['refused']}"])
    known = {each.offset: each for each in records_of(healthy.files)}
    words = [*files, f"opens, offsets {answer['log_start']} to {_number(answer['log_end']) - 1}"]
    seen = [
        LogRecord(int(str(each[0])), str(each[1]), str(each[2]))
        for each in _rows(answer["uncommitted"])
    ]
    missing = sorted(known.keys() - {each.offset for each in seen})
    if missing:
        words.append(f"without records {_listed(missing)}")
    changed = sorted(each.offset for each in seen if known.get(each.offset) != each)
    if changed:
        words.append(f"other records {_listed(changed)}")
    if len(seen) > len({each.offset for each in seen}):
        words.append("some records twice")
    words += [f"reader stops at {answer[name]}" for name in ("stopped_log_end",) if name in answer]
    return "; ".join(words + _committed_words(answer) + _time_words(answer))


def _committed_words(answer: Mapping[str, object]) -> list[str]:
    """Return the difference of the committed records from those of the healthy log."""
    if "stopped_txn_committed" in answer and "stopped_log_end" not in answer:
        return [f"read_committed stops at {answer['stopped_txn_committed']}"]
    offsets = {int(str(each[0])) for each in _rows(answer["committed"])}
    expected = {int(str(each)) for each in _list(answer["healthy_committed"])}
    seen = {int(str(each[0])) for each in _rows(answer["uncommitted"])}
    words = []
    if wrong := sorted(offsets - expected):
        words.append(f"read_committed returns the aborted {_listed(wrong)}")
    if hidden := sorted((expected & seen) - offsets):
        words.append(f"read_committed hides {_listed(hidden)}")
    return words


def _time_words(answer: Mapping[str, object]) -> list[str]:
    if "stopped_times" in answer:
        return [f"lookup by time: {answer['stopped_times']}"]
    found, expected = _list(answer["times"]), _list(answer["healthy_times"])
    wrong = sum(one != other for one, other in zip(found, expected, strict=True))
    return [f"{wrong} of {len(expected)} lookups by time differ"] if wrong else []


def _rows(value: object) -> list[list[object]]:
    assert isinstance(value, list)
    return value


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _listed(offsets: Sequence[int]) -> str:
    return _ranges(list(consecutive_ranges(offsets)))


def _ranges(ranges: Sequence[tuple[int, int | None]]) -> str:
    return ", ".join(
        f"{first}" if first == last else f"{first} on" if last is None else f"{first}-{last}"
        for first, last in ranges
    )


def _first_words(error: CordwoodError) -> str:
    return str(error).removeprefix(f"{DIRECTORY}: ").partition(";")[0]


def _short(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.lstrip("0") if name[:20].isdigit() and name[20:21] == "." else name


def _content(files: MemoryFiles, path: str) -> bytes:
    file = files.open(path)
    return file.pread(file.size, 0)


def _text(data: bytes | None) -> str:
    return "" if data is None else data.decode("latin-1")
