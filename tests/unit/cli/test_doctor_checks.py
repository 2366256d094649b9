"""Each check of the machine has a state, and a remedy unless it is good."""

import resource
import sys
from pathlib import Path

import pytest

from cordwood.cli import doctor_checks
from cordwood.cli.doctor_checks import BAD, GOOD, NOTE, CheckResult, check_configuration
from cordwood.core.errors import KernelLibraryError

NEEDED = "Spark and the ZooKeeper of `cordwood cluster up` need it"


@pytest.mark.parametrize(("release", "state"), (((3, 11, 0), GOOD), ((3, 10, 9), BAD)))
def test_python_has_to_be_new_enough(release: tuple[int, ...], state: str) -> None:
    assert doctor_checks.check_python(release).state == state


@pytest.mark.parametrize(
    ("name", "version", "state"),
    (("numpy", "2.0", GOOD), ("numpy", None, BAD), ("uvloop", None, NOTE)),
)
def test_wheel_is_required_or_optional(name: str, version: str | None, state: str) -> None:
    found = doctor_checks.check_wheel(name, version)

    assert found.state == state
    assert bool(found.remedy) == (version is None)


@pytest.mark.parametrize(
    ("output", "state", "found"),
    (
        ('openjdk version "17.0.1" 2021', GOOD, "17"),
        ('java version "1.8.0_202"', NOTE, f"8: {NEEDED}"),
        ("what?", NOTE, f"not found: {NEEDED}"),
        (None, NOTE, f"not found: {NEEDED}"),
    ),
)
def test_java_is_checked_by_its_version_output(output: str | None, state: str, found: str) -> None:
    checked = doctor_checks.check_java(output)

    assert (checked.state, checked.found) == (state, found)


def test_java_is_found_as_spark_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "java"
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    (java,) = (each for each in doctor_checks.run_checks(str(tmp_path)) if each.subject == "Java")

    assert java.found == f"11: {NEEDED}"


@pytest.mark.parametrize(
    ("prefix", "state", "found"),
    (
        ("/venv", GOOD, "/venv"),
        ("/usr", NOTE, "python3 is that of /usr: Spark may not find format('cordwood')"),
        (None, NOTE, "python3 cannot be run: Spark may not find format('cordwood')"),
    ),
)
def test_python_of_spark_has_to_have_the_package(
    prefix: str | None, state: str, found: str
) -> None:
    checked = doctor_checks.check_spark_python("python3", prefix, own="/venv")

    assert (checked.state, checked.found) == (state, found)
    assert ("PYSPARK_PYTHON=/venv/bin/python3" in checked.remedy) == (state is NOTE)


@pytest.mark.spark
def test_python_of_spark_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    (own,) = (
        each for each in doctor_checks.run_checks(str(tmp_path)) if each.subject == "Spark's Python"
    )
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "absent"))
    (absent,) = (
        each for each in doctor_checks.run_checks(str(tmp_path)) if each.subject == "Spark's Python"
    )

    assert (own.state, absent.state) == (GOOD, NOTE)


@pytest.mark.parametrize(
    ("defaults", "state"),
    (
        ("", NOTE),
        ("spark.sql.python.filterPushdown.enabled   true\n", GOOD),
        ("spark.master local\nspark.sql.python.filterPushdown.enabled=TRUE", GOOD),
        ("spark.sql.python.filterPushdown.enabled false\n", NOTE),
        ("# spark.sql.python.filterPushdown.enabled true\n", NOTE),
    ),
)
def test_filters_are_pushed_down_if_sparks_defaults_enable_it(defaults: str, state: str) -> None:
    assert doctor_checks.check_filters(defaults).state == state


def test_settings_for_short_batches_are_named_if_sparks_defaults_lack_them() -> None:
    sockets = "spark.python.unix.domain.socket.enabled true"
    manager = (
        "spark.sql.streaming.checkpointFileManagerClass=org.apache.spark.sql.execution.streaming."
        "checkpointing.FileSystemBasedCheckpointFileManager"
    )

    assert doctor_checks.check_streams(f"{sockets}\n{manager}").state == GOOD
    assert doctor_checks.check_streams(sockets).remedy == f"set {manager}"
    assert "unix.domain.socket.enabled=true and spark" in doctor_checks.check_streams("").remedy


@pytest.mark.spark
@pytest.mark.parametrize("variable", ("SPARK_CONF_DIR", "SPARK_HOME"))
def test_sparks_defaults_are_found_as_spark_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    folder = tmp_path if variable == "SPARK_CONF_DIR" else tmp_path / "conf"
    folder.mkdir(exist_ok=True)
    (folder / "spark-defaults.conf").write_text("spark.sql.python.filterPushdown.enabled true")
    monkeypatch.setenv(variable, str(tmp_path))

    found = {each.subject: each.state for each in doctor_checks.run_checks(str(tmp_path))}

    assert found["Spark's filters"] == GOOD


@pytest.mark.parametrize(
    "name", ("deltalake", "fastavro", "kazoo", "protobuf", "pyiceberg", "pyspark")
)
def test_missing_wheel_is_named_with_its_version(name: str) -> None:
    assert doctor_checks.check_wheel(name, None).remedy.startswith(f"pip install '{name}")


@pytest.mark.parametrize("name", ("numpy", None))
def test_kernels_that_cannot_be_imported_for_lack_of_a_wheel_are_no_problem_of_theirs(
    monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    def load(_module: str) -> None:
        if name is not None:
            raise ModuleNotFoundError(name)

    monkeypatch.setattr(doctor_checks, "import_module", load)

    assert doctor_checks.library_error() is None


def test_kernels_are_of_a_level_or_missing() -> None:
    found = doctor_checks.check_kernels("x86-64-v3", "")
    error = KernelLibraryError("it was cut", path="/k.so", remedy="copy it")
    unusable = doctor_checks.check_kernels("x86-64-v3", "", error=error)
    missing = doctor_checks.check_kernels(None, "there is no library")

    assert (found.state, missing.state) == (GOOD, NOTE)
    assert "x86-64-v3" in str(found)
    assert "there is no library" in missing.found
    assert "pip install --force-reinstall" in missing.remedy
    assert str(unusable) == "bad: kernels: /k.so: it was cut; copy it"


@pytest.mark.parametrize(("free_bytes", "state"), ((2 << 30, GOOD), (1, NOTE), (None, BAD)))
def test_disk_has_free_space_and_is_writable(free_bytes: int | None, state: str) -> None:
    assert doctor_checks.check_disk("/logs", free_bytes).state == state


@pytest.mark.parametrize(
    ("limit", "state"), ((20_000, GOOD), (resource.RLIM_INFINITY, GOOD), (1024, NOTE))
)
def test_descriptor_limit_is_checked(limit: int, state: str) -> None:
    assert doctor_checks.check_descriptors(limit).state == state


def test_result_is_a_line_with_the_remedy() -> None:
    assert str(CheckResult("Java", NOTE, "8", "install it")) == "note: Java: 8; install it"
    assert str(CheckResult("Java", GOOD, "17")) == "good: Java: 17"


def test_every_check_runs(tmp_path: Path) -> None:
    subjects = [each.subject for each in doctor_checks.run_checks(str(tmp_path / "not" / "there"))]

    assert {"Python", "numpy", "uvloop", "kernels", "Java", "descriptors"} < set(subjects)
    assert str(tmp_path / "not" / "there") in subjects


def test_configuration_file_in_use_is_named(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    environment = {"CORDWOOD_CONFIG": str(file)}
    file.write_text('bootstrap-server = "k:1"')

    result = check_configuration(environment)
    assert (result.state, result.found) == (GOOD, f"{file}; the bootstrap server is k:1")
    file.write_text("bootstrap-servr = 1")
    assert check_configuration(environment).state == BAD
    file.unlink()
    assert check_configuration(environment).state == BAD
    assert "none at" in check_configuration({"HOME": str(tmp_path)}).found
