"""Answers and verdicts."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "answers",
        sa.Column("id", sa.String(length=32), nullable=False, comment="audit id, sorts by time"),
        sa.Column("created_at", sa.Float(), nullable=False, comment="seconds since 1970, UTC"),
        sa.Column(
            "response_id",
            sa.String(length=128),
            nullable=True,
            comment="the completion's own id; feedback may name it instead",
        ),
        sa.Column("route", sa.String(length=64), nullable=True, comment="null where no route took the request"),
        sa.Column("path", sa.String(length=256), nullable=False),
        sa.Column("mode", sa.String(length=8), nullable=True, comment="off, shadow, on"),
        sa.Column(
            "status",
            sa.String(length=16),
            nullable=False,
            comment="what the client got, see docs/api.md",
        ),
        sa.Column("reason", sa.String(length=64), nullable=True, comment="why, where the answer was not hedged"),
        sa.Column("http_status", sa.Integer(), nullable=True, comment="what the client got; null where it left first"),
        sa.Column("model", sa.String(length=256), nullable=True),
        sa.Column("upstream", sa.String(length=64), nullable=True),
        sa.Column("signal", sa.String(length=32), nullable=True),
        sa.Column("samples", sa.Integer(), nullable=True, comment="answers drawn"),
        sa.Column("clusters", sa.Integer(), nullable=True, comment="meanings among them"),
        sa.Column("raw_alpha", sa.Float(), nullable=True),
        sa.Column("raw_beta", sa.Float(), nullable=True),
        sa.Column("alpha", sa.Float(), nullable=True, comment="calibrated"),
        sa.Column("beta", sa.Float(), nullable=True, comment="calibrated"),
        sa.Column(
            "map_id", sa.String(length=128), nullable=True, comment="null: no map, the confidence is uncalibrated"
        ),
        sa.Column("hedge", sa.String(length=64), nullable=True, comment="id of the lexicon entry"),
        sa.Column("rewriter", sa.String(length=32), nullable=True),
        sa.Column(
            "served_agrees",
            sa.Boolean(),
            nullable=True,
            comment="shadow: whether the answer served means the same as the draft",
        ),
        sa.Column("fd_if_right", sa.Float(), nullable=True, comment="nats"),
        sa.Column("fd_if_wrong", sa.Float(), nullable=True, comment="nats"),
        sa.Column("tokens_answer", sa.Integer(), nullable=False, comment="prompt and draft"),
        sa.Column("tokens_samples", sa.Integer(), nullable=False),
        sa.Column("tokens_rewrite", sa.Integer(), nullable=False),
        sa.Column("tokens_escalation", sa.Integer(), nullable=False),
        sa.Column("duration_ms", sa.Float(), nullable=False),
        sa.Column(
            "story",
            sa.JSON(),
            nullable=True,
            comment="the work step by step; holds text only where the route stores text",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_answers")),
    )
    op.create_index(op.f("ix_answers_created_at"), "answers", ["created_at"], unique=False)
    op.create_index(op.f("ix_answers_response_id"), "answers", ["response_id"], unique=False)
    op.create_index(op.f("ix_answers_route"), "answers", ["route"], unique=False)
    op.create_table(
        "verdicts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("answer_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False, comment="seconds since 1970, UTC"),
        sa.Column("correct", sa.Float(), nullable=False, comment="0 wrong .. 1 right"),
        sa.Column("source", sa.String(length=32), nullable=False, comment="who says so"),
        sa.Column("fd_raw", sa.Float(), nullable=True, comment="nats, of the raw confidence"),
        sa.Column("fd", sa.Float(), nullable=True, comment="nats, of the calibrated confidence"),
        sa.ForeignKeyConstraint(["answer_id"], ["answers.id"], name=op.f("fk_verdicts_answer_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verdicts")),
    )
    op.create_index(op.f("ix_verdicts_answer_id"), "verdicts", ["answer_id"], unique=False)
    # ### end Alembic commands ###


def downgrade() -> None:
    """Drop both tables."""
    op.drop_index(op.f("ix_verdicts_answer_id"), table_name="verdicts")
    op.drop_table("verdicts")
    op.drop_index(op.f("ix_answers_route"), table_name="answers")
    op.drop_index(op.f("ix_answers_response_id"), table_name="answers")
    op.drop_index(op.f("ix_answers_created_at"), table_name="answers")
    op.drop_table("answers")
    # ### end Alembic commands ###
