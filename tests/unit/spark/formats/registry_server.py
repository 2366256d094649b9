"""A registry that answers Confluent's REST calls from memory, on a loopback port."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

_BY_ID: Final = re.compile(r"/schemas/ids/(\d+)")
_VERSIONS: Final = re.compile(r"/subjects/([^/]+)/versions(?:/(\w+))?")


class RegistryServer(ThreadingHTTPServer):
    """Schemas in the order of their ids; `failures` are sent before any other answer."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.schemas: list[tuple[str, dict[str, Any]]] = []
        self.failures: list[tuple[int, bytes]] = []
        self.requests: list[str] = []
        self.logins: list[str | None] = []

    @property
    def url(self) -> str:
        """The address of the registry."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer of a call."""
        if found := _BY_ID.fullmatch(path):
            return self._by_id(int(found[1]))
        found = _VERSIONS.fullmatch(path)
        if found is None:
            return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}
        if method == "POST":
            return self._register(found[1], body)
        return self._version(found[1], found[2])

    def _by_id(self, number: int) -> tuple[int, dict[str, Any]]:
        if 0 < number <= len(self.schemas):
            return 200, self.schemas[number - 1][1]
        return 404, {"error_code": 40403, "message": f"Schema {number} not found"}

    def _version(self, subject: str, version: str) -> tuple[int, dict[str, Any]]:
        numbers = [at for at, (name, _) in enumerate(self.schemas, 1) if name == subject]
        if not numbers:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        wanted = len(numbers) if version == "latest" else int(version)
        if wanted > len(numbers):
            return 404, {"error_code": 40402, "message": f"Version {version} not found."}
        number = numbers[wanted - 1]
        return 200, {
            "subject": subject, "version": wanted, "id": number, **self.schemas[number - 1][1]
        }  # fmt: skip

    def _register(self, subject: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "incompatible" in body["schema"]:
            return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
        if body.get("schemaType") == "AVRO":
            del body["schemaType"]  # it is the default, which answers leave out
        self.schemas.append((subject, body))
        return 200, {"id": len(self.schemas)}


class _Handler(BaseHTTPRequestHandler):
    """One call."""

    server: RegistryServer

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _answer(self, body: dict[str, Any]) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        self.server.logins.append(self.headers["Authorization"])
        if self.server.failures:
            status, data = self.server.failures.pop(0)
        else:
            path = self.path.partition("?")[0]
            status, answer = self.server.answer(self.command, path, body)
            data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def registry_server() -> Iterator[RegistryServer]:
    """Run a registry."""
    with RegistryServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
