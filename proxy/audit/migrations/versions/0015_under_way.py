"""Answers that clients have before their rows are made."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """One table."""
    op.create_table(
        "under_way",
        sa.Column("response_id", sa.String(128), primary_key=True, comment="the completion's own id"),
        sa.Column("until", sa.Float, nullable=False, comment="seconds since 1970, UTC; by then its row is there"),
        comment="Answers that clients have and whose rows are still being made: those of shadow.",
    )


def downgrade() -> None:
    """A verdict that comes before its row is refused again."""
    op.drop_table("under_way")
