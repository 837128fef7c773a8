"""Indices of the verdicts that count: also by their moments, and with their condition in the form in which SQLite finds it in a query."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

BEFORE = (
    ("ix_verdicts_current", "verdicts", ("answer_id",), True),
    ("ix_verdicts_fd", "verdicts", ("fd",), False),
    ("ix_claim_verdicts_current", "claim_verdicts", ("answer_id", "claim"), True),
)
ADDED = (
    ("ix_verdicts_newest", "verdicts", ("created_at",), False),
    ("ix_claim_verdicts_newest", "claim_verdicts", ("created_at",), False),
)


def upgrade() -> None:
    """Some seconds for a million verdicts."""
    for name, table, _, _ in BEFORE:
        op.drop_index(name, table)
    _create(BEFORE + ADDED, on_sqlite="current = 1")


def downgrade() -> None:
    """Figures of verdicts are read more slowly."""
    for name, table, _, _ in BEFORE + ADDED:
        op.drop_index(name, table)
    _create(BEFORE, on_sqlite="current")


def _create(indices: tuple[tuple[str, str, tuple[str, ...], bool], ...], on_sqlite: str) -> None:
    sqlite, postgresql = sa.text(on_sqlite), sa.text("current")
    for name, table, columns, unique in indices:
        op.create_index(name, table, list(columns), unique=unique, sqlite_where=sqlite, postgresql_where=postgresql)
