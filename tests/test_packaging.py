"""The unit of systemd, the image and the compose file start a broker with settings that exist.

They are built and run where the tools of Docker have a daemon, in the long form of the tests.
"""

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path
from typing import Final

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.listeners import listeners_of
from cordwood.config import GivenSettings, PropertiesFile, read_settings
from tests.serving import Serving, ended_with

ROOT: Final = Path(__file__).parents[1]
PACKAGING: Final = ROOT / "packaging"
UNIT: Final = PACKAGING / "systemd" / "cordwood.service"
DOCKERFILE: Final = PACKAGING / "docker" / "Dockerfile"
COMPOSE: Final = PACKAGING / "docker" / "compose.yaml"
PROPERTIES: Final = PACKAGING / "systemd" / "server.properties"
PAGE: Final = ROOT / "docs" / "operations.md"
METRICS: Final = "cordwood.metrics.listener"


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [
        (name, " ".join(rest.split())) for name, _, rest in (x.partition(" ") for x in lines if x)
    ]


def image_environment() -> dict[str, str]:
    """Return the variables that the image sets."""
    (text,) = [rest for name, rest in instructions() if name == "ENV"]
    return dict(each.split("=", 1) for each in text.split())


def compose_environment() -> dict[str, str]:
    """Return the variables that the compose file sets for the broker."""
    block = COMPOSE.read_text(encoding="utf-8").partition("environment:\n")[2]
    return dict(re.findall(r'^ {6}(CORDWOOD_\w+): "(.*)"$', block, re.MULTILINE))


def endpoints(given: GivenSettings) -> dict[str, tuple[str, str, int]]:
    """Return the host that each listener binds, and the endpoint that it advertises."""
    found = listeners_of(BrokerConfigs(1, given.sources)).listeners
    return {
        each.name: (each.host, each.advertised.host, each.advertised.port)
        for each in found
        if each.advertised is not None
    }


def test_image_serves_every_address_and_advertises_this_machine() -> None:
    given = read_settings(None, environment=image_environment(), overrides=[])

    assert given.warnings == ()
    assert endpoints(given) == {"PLAINTEXT": ("0.0.0.0", "localhost", 9092)}


def test_compose_file_advertises_an_address_for_each_kind_of_client() -> None:
    both = image_environment() | compose_environment()
    given = read_settings(None, environment=both, overrides=[])

    assert given.warnings == ()
    assert {name: each[1:] for name, each in endpoints(given).items()} == {
        "HOST": ("localhost", 9092),
        "SERVICES": ("cordwood", 29092),
    }


def test_image_installs_the_wheel_of_this_project_and_runs_its_script() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = instructions()

    (entry,) = [json.loads(rest) for name, rest in given if name == "ENTRYPOINT"]
    (command,) = [json.loads(rest) for name, rest in given if name == "CMD"]
    (user,) = [rest for name, rest in given if name == "USER"]
    images = [rest.split()[0] for name, rest in given if name == "FROM"]
    runs = " ".join(rest for name, rest in given if name == "RUN")
    assert entry[0] in project["scripts"]
    assert command == ["serve"]
    assert f"/wheels/{project['name']}-*.whl" in runs
    assert f"useradd --system --uid 1000 {user}" in runs
    assert [*{*images}] == [f"python:{project['requires-python'].removeprefix('>=')}-slim"]


def test_image_is_built_from_the_files_that_the_wheel_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    kept = re.findall(r"^!(\S+)$", Path(f"{DOCKERFILE}.dockerignore").read_text(), re.MULTILINE)
    sdist = {*project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]} - {"tests"}

    assert {*kept} == sdist
    assert all((ROOT / each).exists() for each in kept)


def test_ports_of_the_image_are_those_of_its_settings_and_of_the_compose_file() -> None:
    environment = image_environment()
    (exposed,) = [rest.split() for name, rest in instructions() if name == "EXPOSE"]
    published = re.findall(r'- "127\.0\.0\.1:(\d+):\1"', COMPOSE.read_text(encoding="utf-8"))

    addresses = (environment["CORDWOOD_LISTENERS"], environment["CORDWOOD_METRICS_LISTENER"])
    assert [each.rpartition(":")[2] for each in addresses] == exposed == published


def test_broker_with_the_settings_of_the_image_passes_its_health_check(tmp_path: Path) -> None:
    environment = {
        **image_environment(),
        "CORDWOOD_LOG_DIRS": str(tmp_path / "data"),
        "CORDWOOD_LISTENERS": "PLAINTEXT://127.0.0.1:0",
        "CORDWOOD_METRICS_LISTENER": "127.0.0.1:0",
    }
    (check,) = [rest for name, rest in instructions() if name == "HEALTHCHECK"]
    program = json.loads(check.partition("CMD ")[2])

    with ended_with(Serving(tmp_path, directories=(), environment=environment)) as broker:
        broker.start()
        found = re.search(r"metrics (\S+:\d+)", broker.line)
        assert found is not None, broker.line
        assert image_environment()["CORDWOOD_METRICS_LISTENER"].endswith(":9404")
        code = program[2].replace("127.0.0.1:9404", found[1])
        subprocess.run((sys.executable, "-c", code), check=True, timeout=30)
        with urllib.request.urlopen(f"http://{found[1]}/metrics", timeout=10) as page:
            assert b"cordwood_info{" in page.read()


def test_unit_starts_the_broker_with_settings_that_it_may_write() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # the names of systemd
    unit.read(UNIT)
    service = unit["Service"]
    given = read_settings(
        PropertiesFile(str(PROPERTIES), PROPERTIES.read_bytes()), environment={}, overrides=[]
    )

    program, verb, file = service["ExecStart"].split()
    assert (Path(program).name, verb, Path(file).name) == ("cordwood", "serve", PROPERTIES.name)
    assert service["Type"] == "notify"
    (settings,) = [each.texts for each in given.sources if each.texts]
    assert settings["log.dirs"] == f"/var/lib/{service['StateDirectory']}"
    assert Path(file).parent == Path("/etc", service["ConfigurationDirectory"])
    assert given.warnings == ()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = UNIT.read_text(encoding="utf-8").replace("/opt/cordwood/bin/cordwood", sys.executable)
    (tmp_path / UNIT.name).write_text(text)

    done = subprocess.run(
        ("systemd-analyze", "verify", "--man=no", str(tmp_path / UNIT.name)),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert [each for each in done.stderr.splitlines() if UNIT.name in each] == []
    assert done.returncode == 0, done.stderr


def test_prometheus_scrapes_the_listener_of_the_settings() -> None:
    text = (PACKAGING / "prometheus" / "prometheus.yml").read_text(encoding="utf-8")

    assert f'"{re.findall(f"{METRICS}=(.*)", PROPERTIES.read_text())[0]}"' in text


def test_page_names_files_that_exist() -> None:
    named = re.findall(r"packaging/[\w./-]+\w", PAGE.read_text(encoding="utf-8"))

    assert {f"packaging/{each}" for each in ("docker/Dockerfile", "systemd/cordwood.service")} <= {
        *named
    }
    assert [each for each in named if not (ROOT / each).exists()] == []


def has_daemon() -> bool:
    """Return whether images can be built here, and the long form of the tests is wanted."""
    if "CORDWOOD_SOAK" not in os.environ or shutil.which("docker") is None:
        return False
    return subprocess.run(("docker", "info"), capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not has_daemon(), reason="needs Docker, and CORDWOOD_SOAK=1")
@pytest.mark.timeout(1800)
def test_image_is_built_and_becomes_healthy() -> None:
    def docker(*words: str) -> str:
        done = subprocess.run(("docker", *words), capture_output=True, text=True, check=True)
        return done.stdout.strip()

    docker("build", "--file", str(DOCKERFILE), "--tag", "cordwood-test", str(ROOT))
    container = docker("run", "--detach", "--rm", "cordwood-test")
    try:
        (check,) = [rest for name, rest in instructions() if name == "HEALTHCHECK"]
        wait = "until cordwood topics list; do sleep 1; done"
        docker("exec", container, "timeout", "60", "sh", "-c", wait)
        docker("exec", container, *json.loads(check.partition("CMD ")[2]))
    finally:
        docker("stop", container)
