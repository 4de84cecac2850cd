"""Long pasted blocks in a person's message: told by their first line and their length."""

from __future__ import annotations

from typing import Final

PASTE_LINES: Final = 15


def collapse_pastes(text: str) -> str:
    """Replace long fenced or plain blocks of a person's message by their first line and a count."""
    lines = text.split("\n")
    if len(lines) <= PASTE_LINES:
        return text
    kept: list[str] = []
    block: list[str] = []
    fenced = False

    def close() -> None:
        if len(block) > PASTE_LINES:
            kept.extend([block[0], f"[pasted: {len(block)} lines]"])
        else:
            kept.extend(block)
        block.clear()

    for line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        block.append(line)
        if not line.strip() and not fenced:
            close()
    close()
    return "\n".join(kept)
