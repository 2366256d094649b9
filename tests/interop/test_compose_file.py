"""The compose file is YAML, and its paths exist."""

from importlib import import_module

from tests.test_packaging import COMPOSE, DOCKERFILE, ROOT, compose_environment, image_environment


def test_compose_file_is_yaml_with_paths_that_exist() -> None:
    parsed = import_module("yaml").safe_load(COMPOSE.read_text(encoding="utf-8"))
    service = parsed["services"]["cordwood"]

    context = (COMPOSE.parent / service["build"]["context"]).resolve()
    assert context == ROOT
    assert context / service["build"]["dockerfile"] == DOCKERFILE
    assert service["environment"] == compose_environment()
    assert service["volumes"] == [f"data:{image_environment()['CORDWOOD_LOG_DIRS']}"]
    assert parsed["volumes"] == {"data": {}}
