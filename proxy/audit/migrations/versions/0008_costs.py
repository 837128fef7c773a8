"""What an answer cost, and what its calibration did."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

COUNTED = "ix_answers_counted"
BEFORE = (
    *("created_at", "id", "route", "mode", "status", "reason", "raw_alpha", "raw_beta", "alpha", "beta"),
    *("tokens_answer", "tokens_samples", "tokens_rewrite", "tokens_escalation", "duration_ms"),
    *("key", "model", "arm"),
)
CALIBRATION = "US dollars, of samples, judge, rewriting and escalation; null: not known"


def upgrade() -> None:
    """Two columns, unknown for the rows that are there; the index that tallies are read from has them too."""
    op.add_column("answers", sa.Column("cost_answer", sa.Float, comment="US dollars; null: not known"))
    op.add_column("answers", sa.Column("cost_calibration", sa.Float, comment=CALIBRATION))
    op.drop_index(COUNTED, "answers")
    op.create_index(COUNTED, "answers", [*BEFORE, "cost_answer", "cost_calibration"])


def downgrade() -> None:
    """They are lost."""
    op.drop_index(COUNTED, "answers")
    op.drop_column("answers", "cost_calibration")
    op.drop_column("answers", "cost_answer")
    op.create_index(COUNTED, "answers", list(BEFORE))
