"""Client of a request, in the form that coordinators store (Kafka: `RequestContext`)."""

from cordwood.broker.network.request_context import RequestContext
from cordwood.coordination.client_context import ClientContext


def client_of(context: RequestContext) -> ClientContext:
    """Return the client; its host has Java's form, with a slash in front."""
    return ClientContext(
        context.api_version, context.client_id or "", f"/{context.connection.host}"
    )
