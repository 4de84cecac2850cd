"""Handoffs in the database: prepared records, revisions, receipts, outcomes, drafts, checks.

One module per verb. Everything that moves a head or a receipt happens in one transaction under the
workstream's fencing token.
"""

from __future__ import annotations
