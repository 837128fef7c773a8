"""Whose turn it is to do what one process does for all."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """One table."""
    op.create_table(
        "leases",
        sa.Column("duty", sa.String(16), primary_key=True, comment="drift, purge"),
        sa.Column(
            "holder", sa.String(64), nullable=False, comment="the process that does it, by the name of its chains"
        ),
        sa.Column("until", sa.Float, nullable=False, comment="seconds since 1970, UTC; past: anybody may take it"),
        sa.Column("report", sa.Text, comment="JSON: what the holder found last"),
        comment="Work that one process does for all.",
    )


def downgrade() -> None:
    """Every process does that work again."""
    op.drop_table("leases")
