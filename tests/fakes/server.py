"""What the scripted model APIs have in common: HTTP, the request log, holding an answer back.

A server listens on 127.0.0.1 only. Every request is kept in `requests` and, when a log file is
given, appended to it as one JSON line, before it is answered: what reached the model can be
asserted even when the client was killed in the middle of the answer.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from tests.fakes.scripting import Scenario, Step, Verb, load_scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Json = dict[str, Any]

_POLL: Final = 0.02
"""Seconds between two looks at something that another thread or process does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it arrived."""

    number: int
    """Place in the order of arrival, from 0."""
    at: float
    """Unix time of arrival."""
    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: Json
    """The parsed JSON body; empty when there was none."""
    kind: str
    """turn, title, compaction, or other: a request that no model answers."""
    user_text: str
    """The person's last text in the request, without anything that a client added."""
    texts: tuple[str, ...]
    """Every text that reaches the model, in order, instructions first."""

    @property
    def text(self) -> str:
        """All of `texts` in one, for searching."""
        return "\n".join(self.texts)


def found_in(request: Request, pattern: str, template: str = "") -> str:
    """Return the last match of `pattern` in what reached the model.

    Its groups filled into `template`; without one its first group, else all of it.
    """
    # The script that asks stands in the context as well; what it names must be elsewhere.
    texts = [text.replace(request.user_text, "") for text in request.texts]
    found = [match for text in texts for match in re.finditer(pattern, text)]
    if not found:
        return "not found"
    if template:
        return found[-1].expand(template)
    return found[-1][1] if found[-1].groups() else found[-1][0]


class Disconnected(Exception):  # noqa: N818 - an event in the life of a connection, no error
    """The client went away, or the server is being stopped, in the middle of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An HTTP error to be served instead of an answer."""

    status: int
    body: Json
    headers: Mapping[str, str]


class Reply:
    """Writes one answer to the client: a JSON document, or a stream of server-sent events."""

    def __init__(self, handler: BaseHTTPRequestHandler, stopping: threading.Event) -> None:
        self._handler = handler
        self._stopping = stopping
        self.streaming = False

    def json(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole JSON answer."""
        raw = json.dumps(body).encode()
        self._head(status, {"Content-Type": "application/json", "Content-Length": str(len(raw))})
        for name, value in (headers or {}).items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._write(raw)

    def open_stream(self, headers: Mapping[str, str]) -> None:
        """Start an event stream; chunked, so that a dropped one is seen as broken."""
        self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self.streaming = True

    def event(self, event: Json) -> None:
        """Send one event, named by its `type`."""
        raw = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        self._write(b"%x\r\n%s\r\n" % (len(raw), raw))

    def data(self, data: Json | str) -> None:
        """Send one event without a name; a text is sent as it is."""
        text = data if isinstance(data, str) else json.dumps(data)
        raw = f"data: {text}\n\n".encode()
        self._write(b"%x\r\n%s\r\n" % (len(raw), raw))

    def close_stream(self) -> None:
        """End the stream properly."""
        self._write(b"0\r\n\r\n")

    def drop(self) -> None:
        """Cut the connection in the middle of the stream."""
        self._handler.close_connection = True
        raise Disconnected

    def wait(self, ready: Callable[[], bool]) -> None:
        """Wait until `ready()`; ends early, as a disconnect, when the server stops."""
        while not ready():
            if self._stopping.wait(_POLL):
                raise Disconnected

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self._handler.send_response(status)
        self._handler.send_header("Connection", "close")
        for name, value in headers.items():
            self._handler.send_header(name, value)

    def _write(self, raw: bytes) -> None:
        try:
            self._handler.wfile.write(raw)
            self._handler.wfile.flush()
        except OSError as error:
            raise Disconnected from error


class ScriptedServer(ABC):
    """A scripted model API in a thread of this process.

    Use as a context manager, or `start()` and `stop()`. Both may be called twice.
    """

    def __init__(self, *, scenario: Scenario | None = None, log: Path | None = None) -> None:
        self.scenario = scenario or Scenario()
        self.requests: list[Request] = []
        self.problems: list[str] = []
        """Scripts that could not be carried out; leaving the context raises when there are any."""
        self._log = log
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._held: set[str] = set()
        self._released: set[str] = set()
        self._served: Counter[str] = Counter()
        self._http: ThreadingHTTPServer | None = None

    # -- for tests -------------------------------------------------------------------------

    @property
    def port(self) -> int:
        """The port that the started server listens on."""
        if self._http is None:
            message = "the server is not started"
            raise RuntimeError(message)
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def turns(self) -> list[Request]:
        """The requests that asked for the next answer of a conversation."""
        return [request for request in list(self.requests) if request.kind == "turn"]

    def start(self, port: int = 0) -> Self:
        """Listen on 127.0.0.1 and serve in the background."""
        if self._http is None:
            self._stopping.clear()
            self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler_class(self))
            self._http.daemon_threads = True
            threading.Thread(target=self._http.serve_forever, args=(_POLL,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop listening; answers that are being held back are cut off."""
        self._stopping.set()
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    def release(self, name: str) -> None:
        """Let every answer go on that waits, or will wait, at `hold: name`."""
        with self._lock:
            self._released.add(name)

    def wait_held(self, name: str, timeout: float = 20) -> None:
        """Wait until an answer has reached `hold: name`: the turn is running right now."""
        self.wait_until(lambda: name in self._held, timeout, f"nothing reached hold: {name}")

    def wait_turns(self, count: int, timeout: float = 20) -> list[Request]:
        """Wait until at least `count` turn requests have arrived and return them all."""
        self.wait_until(lambda: len(self.turns) >= count, timeout, f"fewer than {count} turns")
        return self.turns

    def wait_until(self, ready: Callable[[], bool], timeout: float, complaint: str) -> None:
        """Poll `ready` for at most `timeout` seconds; raises TimeoutError with what was seen."""
        deadline = time.monotonic() + timeout
        while not ready():
            if time.monotonic() > deadline:
                seen = [f"{request.kind}: {request.user_text[:80]!r}" for request in self.requests]
                message = f"{complaint} within {timeout} s; seen: {seen}"
                raise TimeoutError(message)
            time.sleep(_POLL)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop()
        if self.problems and kind is None:
            message = f"the scripted model was asked for what it cannot do: {self.problems}"
            raise ValueError(message)

    # -- for the two APIs ------------------------------------------------------------------

    @abstractmethod
    def classify(self, path: str, headers: Mapping[str, str], body: Json) -> str:
        """Return the `kind` of a request."""

    @abstractmethod
    def user_text(self, body: Json) -> str:
        """Return the person's last text in a request body."""

    @abstractmethod
    def context_texts(self, body: Json) -> Iterator[str]:
        """Yield every text of a request body that reaches the model."""

    @abstractmethod
    def answer(self, request: Request, reply: Reply) -> None:
        """Answer a request."""

    def due(self, step: Step, request: Request) -> bool:
        """Say whether a `fail` or `drop` is still to be served, and count it.

        Its last field, when a number preceded by `x`, limits how often.
        """
        last = step.fields[-1] if step.fields else ""
        if not (last.startswith("x") and last[1:].isdigit()):
            return True
        key = f"{request.user_text}\0{step}"
        with self._lock:
            self._served[key] += 1
            return self._served[key] <= int(last[1:])

    def waiting(self, step: Step, reply: Reply) -> None:
        """Carry out a `hold` or a `pause`."""
        if step.verb is Verb.PAUSE:
            until = time.monotonic() + float(step.text)
            reply.wait(lambda: time.monotonic() >= until)
            return
        with self._lock:
            self._held.add(step.text)
        reply.wait(lambda: step.text in self._released)

    # -- inside ----------------------------------------------------------------------------

    def record(self, method: str, path: str, headers: dict[str, str], body: Json) -> Request:
        """Keep a request, and log it, before it is answered."""
        kind = self.classify(path, headers, body) if method == "POST" else "other"
        with self._lock:
            request = Request(
                number=len(self.requests),
                at=time.time(),
                method=method,
                path=path,
                headers=headers,
                body=body,
                kind=kind,
                user_text=self.user_text(body),
                texts=tuple(self.context_texts(body)),
            )
            self.requests.append(request)
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(asdict(request)) + "\n")
        return request

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Serve one HTTP request (called by the HTTP server's threads)."""
        reply = Reply(handler, self._stopping)
        try:
            self._dispatch(handler, reply)
        except Disconnected:
            handler.close_connection = True
        except (ValueError, KeyError) as error:
            # A client would try again and again; 400 ends its turn, and the test is told.
            self.problems.append(f"{type(error).__name__}: {error}")
            handler.close_connection = True
            if not reply.streaming:
                reply.json(400, {"error": {"message": f"bad script: {error}"}})

    def _dispatch(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        raw = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        if handler.path.startswith("/lab/"):
            self._control(handler.path.removeprefix("/lab/"), reply)
            return
        headers = {name.lower(): value for name, value in handler.headers.items()}
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            reply.json(400, {"error": {"message": "the body is no JSON"}})
            return
        self.answer(self.record(handler.command, handler.path, headers, body), reply)

    def _control(self, command: str, reply: Reply) -> None:
        """Tests that run the server as a program: /lab/release/NAME, /lab/held, /lab/requests."""
        if command.startswith("release/"):
            self.release(command.removeprefix("release/"))
        with self._lock:
            known = {"held": sorted(self._held), "requests": [asdict(r) for r in self.requests]}
        reply.json(200, {command: known.get(command)})


def _handler_class(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server.handle(self)

        do_POST = do_HEAD = do_GET  # noqa: N815 - the names that http.server calls

        def log_message(self, *_: object) -> None:
            """Stay silent: requests are in the log file."""

    return Handler


def serve(make: Callable[..., ScriptedServer], argv: list[str] | None = None) -> int:
    """Run a server as a program until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=make.__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 chooses a free one")
    parser.add_argument("--port-file", type=Path, help="written, whole, once it is listening")
    parser.add_argument("--log", type=Path, help="one JSON line per request")
    parser.add_argument("--scenario", type=Path, help="JSON file with rules")
    options = parser.parse_args(argv)
    scenario = load_scenario(options.scenario) if options.scenario else None
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    with make(scenario=scenario, log=options.log).start(options.port) as server:
        if options.port_file:
            staged = options.port_file.with_name(options.port_file.name + ".new")
            staged.write_text(f"{server.port}\n", encoding="utf-8")
            staged.replace(options.port_file)
        sys.stdout.write(f"listening on {server.url}\n")
        sys.stdout.flush()
        done.wait()
    return 0
