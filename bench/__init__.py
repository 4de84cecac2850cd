"""Benchmarks: the numbers of the design, each with its floor from the same run.

`python -m bench` prints a table and writes `bench-results.json`; `--quick` is the short form.
"""

from __future__ import annotations
