"""Turns script steps into calls of whatever tools a client offers its model.

Every harness has its own names and parameters for the same few tools. The request carries them with
a JSON schema, so that one reader serves all: a tool is found by its usual names, a parameter by its
usual names, and what else the schema requires is filled with something harmless.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.fakes.scripting import Step, Verb
from tests.fakes.server import Request, found_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Json = dict[str, Any]

_SHELL: Final = (
    "bash",
    "runshellcommand",
    "shell",
    "shellcommand",
    "runterminalcommand",
    "runterminalcmd",
    "runcommand",
    "execcommand",
    "execute",
)
_READ: Final = ("read", "readfile", "view", "viewfile")
_WRITE: Final = ("write", "writefile", "create", "createfile")
_EDIT: Final = ("edit", "replace", "editfile", "strreplacefile", "strreplace", "searchreplace")
_ROLES: Final = {
    "command": "command",
    "cmd": "command",
    "path": "path",
    "filepath": "path",
    "absolutepath": "path",
    "targetfile": "path",
    "content": "content",
    "contents": "content",
    "filetext": "content",
    "oldtext": "old",
    "oldstring": "old",
    "oldstr": "old",
    "old": "old",
    "newtext": "new",
    "newstring": "new",
    "newstr": "new",
    "new": "new",
    "description": "purpose",
    "intent": "purpose",
}
_FOLDER: Final = re.compile(
    r"(?i)(?:working directory|\bcwd\b|workspace (?:root|path)|workspace folders?|current directory"
    r"|current folder|working in the (?:following )?director(?:y|ies)|workspace directories)"
    r"[^/\n]{0,60}\n?[^/\n]{0,20}(/[^\s`\"'<>),]+)"
)
"""Where a client tells its model the folder that it works in."""


class NoToolError(ValueError):
    """The client offers no tool for a step."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of one request: name -> JSON schema of the parameters."""

    schemas: Mapping[str, Json]

    def calls(self, step: Step, request: Request) -> list[tuple[str, Json]]:
        """Return the calls of a step, name and arguments; raises ValueError where none fits."""
        if step.verb is Verb.PARALLEL:
            return [self._shell(command) for command in step.fields]
        if step.verb is Verb.RUN:
            return [self._shell(step.text)]
        if step.verb is Verb.RUN_FOUND:
            return [self._shell(found_in(request, step.text))]
        if step.verb is Verb.TOOL:
            return [(step.field(0), json.loads(step.field(1, "{}")))]
        path = absolute(step.field(0), request)
        names: Sequence[str]
        if step.verb is Verb.READ:
            values, names, otherwise = {"path": path}, _READ, f"cat {shlex.quote(path)}"
        elif step.verb is Verb.WRITE:
            values = {"path": path, "content": step.field(1)}
            names, otherwise = _WRITE, _writing(path, step.field(1))
        else:
            values = {"path": path, "old": step.field(1), "new": step.field(2)}
            names, otherwise = _EDIT, _editing(path, step.field(1), step.field(2))
        found = self._named(names, values)
        return [found or self._shell(otherwise)]

    def _shell(self, command: str) -> tuple[str, Json]:
        found = self._named(_SHELL, {"command": command})
        if found is None:
            message = f"no shell tool among {sorted(self.schemas)}"
            raise NoToolError(message)
        return found

    def _named(self, names: Sequence[str], values: Mapping[str, str]) -> tuple[str, Json] | None:
        """Return a call of the first tool with one of these names that takes all values."""
        known = {_plain(name): name for name in self.schemas}
        for name in names:
            if name in known:
                schema = self.schemas[known[name]]
                arguments = filled(schema, values)
                if all(value in _leaves(arguments) for value in values.values()):
                    return known[name], arguments
        return None


def filled(schema: Json, values: Mapping[str, str]) -> Json:
    """Return an object for a schema: values by a property's role, the required rest made up."""
    required = schema.get("required") or ()
    result: Json = {}
    for name, inner in (schema.get("properties") or {}).items():
        role = _ROLES.get(_plain(name), "")
        if role in values:
            result[name] = values[role]
        elif role == "purpose" and _kind(inner) == "string":
            result[name] = "Scripted command"
        elif name in required:
            result[name] = _made_up(inner, values)
    return result


def _made_up(schema: Json, values: Mapping[str, str]) -> object:
    if schema.get("enum"):
        return schema["enum"][0]
    kind = _kind(schema)
    if kind == "object":
        return filled(schema, values)
    if kind == "array":
        items = schema.get("items") or {}
        return [filled(items, values)] if _kind(items) == "object" else []
    plain: dict[str, object] = {"boolean": False, "integer": 1, "number": 1, "null": None}
    return plain.get(kind, "Scripted")


def _kind(schema: Json) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "string")
    # Gemini writes types in capitals.
    return str(kind).lower() if kind else ("object" if "properties" in schema else "string")


def _leaves(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value]


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def absolute(path: str, request: Request) -> str:
    """Return a path made absolute with the folder that the client told the model.

    Unchanged where the client named no folder that is there. The root folder never counts: a
    misread prompt must not make a scripted model write there.
    """
    if path.startswith("/"):
        return path
    for text in request.texts:
        for found in _FOLDER.finditer(text):
            folder = Path(found[1].rstrip("/."))
            if len(folder.parts) > 2 and folder.is_dir():
                return str(folder / path)
    return path


def _writing(path: str, content: str) -> str:
    return f"printf %s {shlex.quote(content)} > {shlex.quote(path)}"


def _editing(path: str, old: str, new: str) -> str:
    code = (
        "import sys; from pathlib import Path; p, old, new = sys.argv[1:]; f = Path(p);"
        " t = f.read_text(); assert t.count(old) == 1; f.write_text(t.replace(old, new))"
    )
    return shlex.join(["python3", "-c", code, path, old, new])
