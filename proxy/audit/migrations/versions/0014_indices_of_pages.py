"""Indices of the verdicts that count: also by their moments, and with their condition in the form in which SQLite finds it in a query; one that
holds all that is read of answers with a confidence; and one of the requests of a split.
"""

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
MEASURED = (
    *("created_at", "route", "raw_alpha", "raw_beta", "alpha", "beta"),
    *("perceived_alpha", "perceived_beta", "own_alpha", "own_beta"),
    *("status", "own_marker", "hedge"),
)


def upgrade() -> None:
    """Some seconds for a million rows."""
    for name, table, _, _ in BEFORE:
        op.drop_index(name, table)
    _create(BEFORE + ADDED, on_sqlite="current = 1")
    measured = sa.text("raw_alpha IS NOT NULL")
    op.create_index("ix_answers_measured", "answers", list(MEASURED), sqlite_where=measured, postgresql_where=measured)
    split = sa.text("arm IS NOT NULL")
    op.create_index("ix_answers_arm", "answers", ["route", "arm"], sqlite_where=split, postgresql_where=split)


def downgrade() -> None:
    """The pages are slower."""
    op.drop_index("ix_answers_arm", "answers")
    op.drop_index("ix_answers_measured", "answers")
    for name, table, _, _ in BEFORE + ADDED:
        op.drop_index(name, table)
    _create(BEFORE, on_sqlite="current")


def _create(indices: tuple[tuple[str, str, tuple[str, ...], bool], ...], on_sqlite: str) -> None:
    sqlite, postgresql = sa.text(on_sqlite), sa.text("current")
    for name, table, columns, unique in indices:
        op.create_index(name, table, list(columns), unique=unique, sqlite_where=sqlite, postgresql_where=postgresql)
