"""Texts by which a client shows itself in an interactive session."""

from cordwood.client.settings import ClientSettings


def client_repr(
    kind: str, settings: ClientSettings, *facts: str | None, is_running: bool = True
) -> str:
    """Return a text such as `<cordwood.aio.Producer of 127.0.0.1:9092, transactional id 'etl'>`.

    A blocking client shows the text of the client that it wraps.
    """
    state = None if is_running else "not running"
    known = [each for each in (*facts, state) if each]
    servers = ",".join(settings.bootstrap_servers)
    return f"<cordwood.aio.{kind} of {', '.join([servers, *known])}>"
