from __future__ import annotations

from tests.run.fixtures import desk, template

__all__ = ["desk", "template"]
