"""`help` and `inspect` show each option of a client, with its type, default and meaning."""

import inspect
import pydoc
from typing import Unpack

from cordwood.client.option_signature import named_options
from cordwood.client.settings import ClientOptions, ClientSettings, attribute_of, settings_in


@named_options(ClientSettings)
class _Client:
    """A client."""

    def __init__(
        self, bootstrap: str = "", *, runtime: int = 0, **options: Unpack[ClientOptions]
    ) -> None:
        """Create a client."""
        self.given = (bootstrap, runtime, options)


def test_signature_has_the_options_with_type_and_default() -> None:
    parameters = inspect.signature(_Client).parameters

    assert list(parameters) == [
        "bootstrap",
        *(attribute_of(each.name) for each in settings_in(ClientSettings)),
    ]
    assert parameters["request_timeout_ms"].default == 30_000
    assert parameters["request_timeout_ms"].annotation is int


def test_help_has_the_meaning_of_each_option() -> None:
    shown = pydoc.plain(pydoc.render_doc(_Client))

    assert "Create a client." in shown
    assert "client_id (default: 'cordwood')" in shown
    assert "One of PLAINTEXT, SSL." in shown


def test_constructor_works_as_before() -> None:
    assert _Client("b:1", runtime=2, client_id="web").given == ("b:1", 2, {"client_id": "web"})
