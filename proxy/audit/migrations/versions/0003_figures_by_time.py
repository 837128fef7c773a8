"""Indices that the dashboard reads alone: what is counted by time, and verdicts by their divergence."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

COUNTED = (
    *("created_at", "route", "mode", "status", "reason", "raw_alpha", "raw_beta", "alpha", "beta"),
    *("tokens_answer", "tokens_samples", "tokens_rewrite", "tokens_escalation", "duration_ms"),
)


def upgrade() -> None:
    """The wide index begins with the moment, so it takes the place of the narrow one."""
    op.drop_index("ix_answers_created_at", "answers")
    op.create_index("ix_answers_counted", "answers", list(COUNTED))
    op.create_index(
        "ix_verdicts_fd", "verdicts", ["fd"], sqlite_where=sa.text("current"), postgresql_where=sa.text("current")
    )


def downgrade() -> None:
    """Back to the narrow index."""
    op.drop_index("ix_verdicts_fd", "verdicts")
    op.drop_index("ix_answers_counted", "answers")
    op.create_index("ix_answers_created_at", "answers", ["created_at"])
