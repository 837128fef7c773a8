"""Promises over time: what was promised of an answer, and how likely its verdict was to be asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Two columns of answers, one of verdicts."""
    op.add_column(
        "answers", sa.Column("certificate", sa.String(160), comment="id of the one that decided what was served")
    )
    op.add_column(
        "answers",
        sa.Column("promised", sa.JSON, comment="the promises that cover the answer, or why not; its language"),
    )
    op.add_column(
        "verdicts",
        sa.Column("propensity", sa.Float, comment="probability with which the answer was drawn for it; null: not told"),
    )


def downgrade() -> None:
    """What was promised is lost."""
    op.drop_column("verdicts", "propensity")
    op.drop_column("answers", "promised")
    op.drop_column("answers", "certificate")
