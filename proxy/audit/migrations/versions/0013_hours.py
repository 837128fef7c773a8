"""Sums of whole hours."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Three tables; a serving process fills them with the hours that are there."""
    op.create_table(
        "hours",
        sa.Column("hour", sa.BigInteger, autoincrement=False, comment="when it began, seconds since 1970"),
        sa.PrimaryKeyConstraint("hour", name="pk_hours"),
        comment="Hours that are summed up in `hour_endings` and `hour_counts`. What changes their rows drops them from all three.",
    )
    op.create_table(
        "hour_endings",
        sa.Column("hour", sa.BigInteger, autoincrement=False),
        sa.Column("route", sa.String(64), comment="empty where no route took the request"),
        sa.Column("mode", sa.String(8), comment="empty: none"),
        sa.Column("status", sa.String(16)),
        sa.Column("reason", sa.String(64), comment="empty: none"),
        sa.Column("requests", sa.BigInteger, nullable=False),
        sa.Column("tokens_answer", sa.BigInteger, nullable=False),
        sa.Column("tokens_samples", sa.BigInteger, nullable=False),
        sa.Column("tokens_rewrite", sa.BigInteger, nullable=False),
        sa.Column("tokens_escalation", sa.BigInteger, nullable=False),
        sa.Column("duration_ms", sa.Float, nullable=False, comment="summed"),
        sa.Column("cost_answer", sa.Float, nullable=False, comment="US dollars, where both costs are known"),
        sa.Column("cost_calibration", sa.Float, nullable=False, comment="US dollars, where both costs are known"),
        sa.Column(
            "unpriced",
            sa.BigInteger,
            nullable=False,
            comment="answers with a confidence of which not both costs are known",
        ),
        sa.PrimaryKeyConstraint("hour", "route", "mode", "status", "reason", name="pk_hour_endings"),
        comment="Of an hour, the requests that ended alike.",
    )
    op.create_table(
        "hour_counts",
        sa.Column("hour", sa.BigInteger, autoincrement=False),
        sa.Column(
            "kind",
            sa.String(16),
            comment="raw, calibrated: answers by mean confidence; marker: by the draft's own; served: by what was served",
        ),
        sa.Column("route", sa.String(64), comment="empty where no route took the request"),
        sa.Column("name", sa.String(64), comment="the cell of the confidence, counted from 0, or the marker"),
        sa.Column("answers", sa.BigInteger, nullable=False),
        sa.Column("total", sa.Float, comment="of their mean raw confidences"),
        sa.Column("squares", sa.Float, comment="of their mean raw confidences"),
        sa.PrimaryKeyConstraint("hour", "kind", "route", "name", name="pk_hour_counts"),
        comment="Of an hour, the answers of one confidence or one marker.",
    )


def downgrade() -> None:
    """Every figure is counted from rows again."""
    for name in ("hour_counts", "hour_endings", "hours"):
        op.drop_table(name)
