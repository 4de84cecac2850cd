"""The shape of a JSON document: its keys and the types of its values, for golden comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_MAPS = frozenset(
    {
        "counts", "imported", "left_out", "redactions", "origins", "works",
    }
)  # fmt: skip
"""Objects whose keys are data: kinds, settings, file names."""
_ANY = frozenset({"tool_input", "values"})
"""Values whose type is data."""
_NAMES: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
}


def shape(value: Any, name: str = "") -> Any:
    """Return the shape: types as words joined by "|", one element for a list."""
    if name in _ANY:
        return "any"
    if isinstance(value, dict):
        if name in _MAPS:
            return {"*": merged(shape(item) for item in value.values())}
        return {key: shape(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [merged(shape(item) for item in value)]
    return _NAMES[type(value)]


def merged(shapes: Iterable[Any]) -> Any:
    """Return one shape that covers all; objects that differ in their keys do not fit together."""
    result: Any = None
    for item in shapes:
        result = item if result is None else _both(result, item)
    return "nothing" if result is None else result


def _both(one: Any, other: Any) -> Any:
    if one == other:
        return one
    if isinstance(one, dict) and isinstance(other, dict):
        assert set(one) == set(other), f"keys differ: {set(one) ^ set(other)}"
        return {key: _both(one[key], other[key]) for key in one}
    if isinstance(one, list) and isinstance(other, list):
        return [_both(one[0], other[0])]
    if isinstance(one, str) and isinstance(other, str):
        return "|".join(sorted({*one.split("|"), *other.split("|")} - {"nothing"}))
    return other if one in ("null", "nothing") else one if other in ("null", "nothing") else "mixed"
