"""The page of settings is generated from the tables."""

from scripts.configuration_page import PAGE, page


def test_page_of_settings_is_current() -> None:
    fresh = PAGE.read_text(encoding="utf-8") == page()

    assert fresh, "run python scripts/configuration_page.py"
