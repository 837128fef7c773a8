"""What is spent in a day, for budgets."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """A table."""
    op.create_table(
        "spending",
        sa.Column("name", sa.String(200), comment="unit, route and key; * for all of them together"),
        sa.Column("day", sa.String(10), comment="UTC, as 2026-11-22"),
        sa.Column("holder", sa.String(32), comment="the process that counted, or the request that it is held for"),
        sa.Column("used", sa.Float, nullable=False, comment="tokens or dollars spent"),
        sa.Column("held", sa.Float, nullable=False, comment="for a request under way"),
        sa.Column("largest", sa.Float, nullable=False, comment="of the last requests, fading"),
        sa.Column("seen_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
        sa.PrimaryKeyConstraint("name", "day", "holder", name="pk_spending"),
        comment="What calibrated requests spend in a day, counted against budgets.",
    )


def downgrade() -> None:
    """Budgets begin anew."""
    op.drop_table("spending")
