"""The path of a Python process that starts with `sitecustomize`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cordwood.spark.runtime.worker_python import WORKER_SITE


def started(*entries: Path | str) -> list[str]:
    """Return the path of a new process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, entries))}
    done = subprocess.run(
        [sys.executable, "-c", "import json, sys; print(json.dumps(sys.path))"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    path: list[str] = json.loads(done.stdout)
    return path


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Return a folder with the package of a PySpark."""
    lib = tmp_path / "packages" / "pyspark" / "python" / "lib"
    lib.mkdir(parents=True)
    for name in ("pyspark.zip", "py4j-src.zip"):
        (lib / name).touch()
    return tmp_path / "packages"


def test_zips_of_an_installed_pyspark_are_not_on_the_path(packages: Path) -> None:
    zips = [str(each) for each in packages.rglob("*.zip")]

    path = started(*zips, WORKER_SITE, packages)

    assert not set(zips).intersection(path)
    assert WORKER_SITE not in path
    assert str(packages) in path


def test_zips_stay_without_the_package(packages: Path, tmp_path: Path) -> None:
    zips = [str(each) for each in packages.rglob("*.zip")]

    path = started(*zips, WORKER_SITE, tmp_path)

    assert set(zips) <= set(path)


def test_hidden_module_of_the_environment_is_imported(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.path.append('by the user')\n")

    assert started(WORKER_SITE, tmp_path)[-1] == "by the user"


def test_error_of_the_hidden_module_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import absent_module\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((WORKER_SITE, str(tmp_path)))}

    done = subprocess.run(
        [sys.executable, "-c", ""], env=environment, capture_output=True, text=True, check=True
    )

    assert "No module named 'absent_module'" in done.stderr
