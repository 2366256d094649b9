"""The facade offers every public name, and imports a module on first access of a name."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cordwood
from cordwood import aio
from cordwood.client import blocking
from cordwood.core.uuids import Uuid
from cordwood.records.batch_builder import BatchFields
from cordwood.storage.append_origin import AppendOrigin
from tests.interop.kafka_harness.our_manager import lead, made, managed
from tests.unit.storage.log_samples import marker, produced


def modules_after(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has imported after the code."""
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_facade_imports_no_other_module() -> None:
    loaded = modules_after("import cordwood") - modules_after("import typing")

    assert loaded == {"cordwood"}


def test_facade_imports_no_heavy_modules_for_a_batch() -> None:
    loaded = modules_after("import cordwood; cordwood.RecordBatch, cordwood.BatchBuilder")

    assert not loaded & {"asyncio", "numpy", "pyarrow"}


@pytest.mark.parametrize(
    "module",
    (
        "storage.manager.log_manager",
        "storage.manager.maintenance_tasks",
        "storage.manager.log_directories",
        "records.kernels",
    ),
)
def test_startup_of_a_broker_imports_no_array_libraries(module: str) -> None:
    loaded = modules_after(f"import cordwood.{module}")

    assert not loaded & {"numpy", "pyarrow"}


@pytest.mark.parametrize("name", cordwood.__all__)
def test_facade_resolves_names_lazily(name: str) -> None:
    value = getattr(cordwood, name)

    assert value is getattr(cordwood, name)
    assert name in dir(cordwood)


def test_facade_has_both_kinds_of_clients() -> None:
    assert cordwood.aio is aio
    assert cordwood.Producer is blocking.Producer


def test_facade_names_itself_when_the_name_is_unknown() -> None:
    with pytest.raises(AttributeError, match="'cordwood' has no attribute 'no_such_name'"):
        getattr(cordwood, "no_such_name")  # noqa: B009  # the name is not there for mypy either


def test_facade_opens_a_partition_and_a_log_directory(tmp_path: Path) -> None:
    partition = tmp_path / "orders-0"
    partition.mkdir()
    builder = cordwood.BatchBuilder(BatchFields())
    builder.append(b"key", b"value", timestamp=1)
    (partition / f"{0:020}.log").write_bytes(builder.build())

    logs = [cordwood.open_log(partition), *cordwood.open_directory(tmp_path)]

    assert [log.offsets().log_end for log in logs] == [1, 1]
    assert [log.path for log in logs] == [str(partition)] * 2


def test_facade_returns_all_results_for_a_log_that_is_being_written(tmp_path: Path) -> None:
    with managed(tmp_path) as manager:
        log = made(manager, "orders", Uuid(b"orders" + bytes(10)))
        lead(log, produced(0, 3, is_transactional=True))
        lead(log, marker(is_commit=True), AppendOrigin.COORDINATOR)
        with cordwood.open_log(tmp_path / "orders-0") as view:
            told = view.offsets(), view.stat(deep=True), view.verify(), view.explain()
            rows = [row["offset"] for each in view.arrow(["offset"]) for row in each.to_pylist()]

    offsets, stat, verified, explained = told
    assert (offsets.log_end, stat.total.transactions_committed, rows) == (4, 1, [0, 1, 2])
    assert not verified.is_damaged
    assert [each.goes for each in explained.segments] == ["older than retention.ms"]
    for each in told:
        assert repr(each).startswith(f"{type(each).__name__}(")
        assert str(tmp_path / "orders-0") in json.dumps(json.loads(each.to_json()))


def test_facade_opens_a_partition_without_numpy(tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.log").touch()

    loaded = modules_after(f"import cordwood; cordwood.open_log({str(tmp_path)!r}).offsets()")

    assert not loaded & {"numpy", "pyarrow"}
