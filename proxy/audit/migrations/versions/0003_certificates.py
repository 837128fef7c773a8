"""Certificates of promises: a table."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """One table."""
    op.create_table(
        "certificates",
        sa.Column("seq", sa.Integer, autoincrement=False, comment="1, 2, ... in their one chain"),
        sa.Column("id", sa.String(160), nullable=False),
        sa.Column("created_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
        sa.Column("route", sa.String(64), nullable=False, comment="empty: any"),
        sa.Column("map_id", sa.String(128), comment="whose confidences the thresholds are for; null: uncalibrated"),
        sa.Column(
            "content", sa.Text, nullable=False, comment="JSON: the certificate, its seal, and the seal before it"
        ),
        sa.PrimaryKeyConstraint("seq", name="pk_certificates"),
        sa.UniqueConstraint("id", name="uq_certificates_id"),
        comment="Certificates of promises. Rows are added, never changed.",
    )


def downgrade() -> None:
    """Certificates are lost."""
    op.drop_table("certificates")
