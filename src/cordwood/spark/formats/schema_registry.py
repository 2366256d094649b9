"""Client of a schema registry, with Confluent's REST calls (Confluent: `RestService`).

    GET  /schemas/ids/{id}                      the schema with an id
    GET  /subjects/{subject}/versions/{version} a version of a subject, or `latest`
    POST /subjects/{subject}/versions           register a schema, and get its id

A task requests each schema on its first use, and its process keeps it. A registry that does not
answer is an error of the task and not of the row, because the next attempt of the task can succeed.
Redirects are not followed, and proxies of the environment are not used.
"""

import base64
import http.client
import json
import ssl
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cordwood.core.errors import SchemaRegistryError, SettingError
from cordwood.spark.formats.schema_source import (
    AVRO,
    SchemaReference,
    SchemaText,
    UnknownSchemaError,
    invalid_schemas,
)

_ACCEPTED: Final = "application/vnd.schemaregistry.v1+json, application/json"
_SENT: Final = "application/vnd.schemaregistry.v1+json"
_OK: Final = 200
_UNAUTHORIZED: Final = (401, 403)
_NOT_FOUND: Final = 404
_CLIENT_ERRORS: Final = 400
#: The codes of the registry: no such subject, version or schema.
_UNKNOWN: Final = (40401, 40402, 40403)
_TOO_MANY: Final = 429
_SERVER_ERRORS: Final = 500
#: Attempts at each address, without a backoff: Spark retries a failed task later.
_TRIES: Final = 3
_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """The addresses of the nodes of one registry, and the login."""

    urls: tuple[str, ...]
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    timeout_s: float = _TIMEOUT_S


#: The schemas that this process has received, which never change, by registry and path.
_KNOWN: Final[dict[RegistrySettings, dict[str, Any]]] = {}


class SchemaRegistry:
    """The schemas of a registry; a decoder keeps unknown ids for its task."""

    def __init__(self, settings: RegistrySettings) -> None:
        self.settings = settings
        self._known = _KNOWN.setdefault(settings, {})

    def __reduce__(self) -> tuple[type["SchemaRegistry"], tuple[RegistrySettings]]:
        """Leave out the schemas: each process requests those that it needs."""
        return SchemaRegistry, (self.settings,)

    # Functions of `SchemaSource`.

    def by_id(self, schema_id: int) -> SchemaText:
        return self._text_at(f"/schemas/ids/{schema_id}?format=serialized", "the registry has none")

    def by_version(self, subject: str, version: int) -> SchemaText:
        path = f"/subjects/{_quoted(subject)}/versions/{version}?format=serialized"
        return self._text_at(path, f"the registry has no version {version} of {subject}")

    def id_of(self, name: int | str | None) -> int:
        if name is None:
            raise invalid_schemas(
                "a registry has schemas of many subjects", "name a subject, or the id of a schema"
            )
        if isinstance(name, int):
            return name
        try:
            found = self._get(f"/subjects/{_quoted(name)}/versions/latest")
        except UnknownSchemaError as error:
            raise invalid_schemas(
                f"the registry has no subject {name}", "register its schema, or correct the name"
            ) from error
        return int(found["id"])

    # Registration.

    def register(self, subject: str, schema: SchemaText) -> int:
        """Register a schema for a subject, unless it is there; return its id.

        Raise SettingError if the registry rejects it, for example as incompatible.
        """
        body = {"schema": schema.text, "schemaType": schema.kind}
        if schema.references:
            body["references"] = [each._asdict() for each in schema.references]  # type: ignore[assignment]  # a list
        answer = self._ask("POST", f"/subjects/{_quoted(subject)}/versions", body)
        return int(answer["id"])

    # Requests.

    def _text_at(self, path: str, absent: str) -> SchemaText:
        found = self._known.get(path)
        if found is None:
            try:
                found = self._known[path] = self._get(path)
            except UnknownSchemaError as error:
                raise UnknownSchemaError(absent) from error
        return _schema_text(found)

    def _get(self, path: str) -> Mapping[str, Any]:
        return self._ask("GET", path, None)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Send a request to one node after the other, until one answers."""
        failure = ""
        for _ in range(_TRIES):
            for url in self.settings.urls:
                try:
                    status, answer = self._ask_node(url, method, path, body)
                except (OSError, http.client.HTTPException) as error:
                    failure = f"{url}: {str(error) or type(error).__name__}"
                    continue
                if status != _TOO_MANY and status < _SERVER_ERRORS:
                    return _checked(status, answer, url=url, path=path)
                failure = f"{url}: status {status}"
        raise SchemaRegistryError(
            f"the schema registry does not answer ({failure});"
            " check its address, and whether it runs"
        )

    def _ask_node(
        self, url: str, method: str, path: str, body: Mapping[str, Any] | None
    ) -> tuple[int, bytes]:
        place = urllib.parse.urlsplit(url)
        connection = self._connect(place)
        headers = {"Accept": _ACCEPTED, "Content-Type": _SENT, **self._authorization()}
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, place.path.rstrip("/") + path, data, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _connect(self, place: urllib.parse.SplitResult) -> http.client.HTTPConnection:
        timeout_s = self.settings.timeout_s
        if place.scheme == "https":
            context = ssl.create_default_context(cafile=self.settings.ca_file)
            return http.client.HTTPSConnection(place.netloc, timeout=timeout_s, context=context)
        return http.client.HTTPConnection(place.netloc, timeout=timeout_s)

    def _authorization(self) -> dict[str, str]:
        settings = self.settings
        if settings.token is not None:
            return {"Authorization": f"Bearer {settings.token}"}
        if settings.user is not None:
            pair = f"{settings.user}:{settings.password or ''}".encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode('ascii')}"}
        return {}


def parse_registry(text: str) -> SchemaRegistry:
    """Return the registry at an address, or at several separated by commas.

    The address may contain a login: `https://user:password@registry:8081`.
    """
    urls, user, password = [], None, None
    for each in filter(None, map(str.strip, text.split(","))):
        place = urllib.parse.urlsplit(each)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise SettingError(
                f"schemas: {_without_login(each)!r} is not an address of a registry",
                key="schemas",
                remedy="write http://host:8081, or https://user:password@host",
            )
        if place.username is not None:
            user = urllib.parse.unquote(place.username)
            password = urllib.parse.unquote(place.password or "")
        urls.append(_without_login(each))
    return SchemaRegistry(RegistrySettings(urls=tuple(urls), user=user, password=password))


def is_registry(text: str) -> bool:
    """Return whether a text is the address of a registry, not a folder."""
    return text.startswith(("http://", "https://"))


def _without_login(url: str) -> str:
    place = urllib.parse.urlsplit(url)
    return place._replace(netloc=place.netloc.rpartition("@")[2]).geturl()


def _checked(status: int, answer: bytes, *, url: str, path: str) -> Mapping[str, Any]:
    """Return the JSON of an answer; raise the error that it has."""
    try:
        parsed = json.loads(answer)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise SchemaRegistryError(
            f"{url} is not a schema registry: {path} has status {status} and no JSON object;"
            " use the address of the registry's REST calls"
        )
    message = parsed.get("message") or parsed.get("detail") or ""
    if status == _OK:
        return parsed
    if parsed.get("error_code") in _UNKNOWN:
        raise UnknownSchemaError(str(message))
    if status == _NOT_FOUND or status < _CLIENT_ERRORS:
        raise SchemaRegistryError(
            f"{url} does not answer {path} (status {status}: {message}); check the address of the"
            " registry's REST calls"
        )
    if status in _UNAUTHORIZED:
        raise SchemaRegistryError(
            f"{url} refuses the login (status {status}); write it into the address, as in"
            " https://user:password@host"
        )
    raise SettingError(
        f"the schema registry rejects {path.partition('?')[0]}: {message} (status {status})",
        key="schemas",
        remedy="correct the schema, or the compatibility of its subject",
    )


def _schema_text(found: Mapping[str, Any]) -> SchemaText:
    references = tuple(
        SchemaReference(str(each["name"]), str(each["subject"]), int(each["version"]))
        for each in found.get("references") or ()
    )
    kind = str(found.get("schemaType") or AVRO)
    return SchemaText(kind, str(found["schema"]), references)


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")
