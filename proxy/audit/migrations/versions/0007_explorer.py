"""By which lot a request of a split route got its mode; and one index that holds all that requests are counted and filtered by."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

NAME = "ix_answers_counted"
BEFORE = (
    *("created_at", "route", "mode", "status", "reason", "raw_alpha", "raw_beta", "alpha", "beta"),
    *("tokens_answer", "tokens_samples", "tokens_rewrite", "tokens_escalation", "duration_ms"),
)
NOW = (BEFORE[0], "id", *BEFORE[1:], "key", "model", "arm")


def upgrade() -> None:
    """A column, unknown for the rows that are there; the index is built anew: some seconds for a million rows."""
    arm = sa.Column("arm", sa.String(8), comment="mode that a split route gave the request by lot; null: not by lot")
    op.add_column("answers", arm)
    op.drop_index(NAME, "answers")
    op.create_index(NAME, "answers", list(NOW))


def downgrade() -> None:
    """The arms are lost."""
    op.drop_index(NAME, "answers")
    op.create_index(NAME, "answers", list(BEFORE))
    op.drop_column("answers", "arm")
