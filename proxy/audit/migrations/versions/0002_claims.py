"""Claims of long answers: their confidence beside the answer's, their words beside its texts, and verdicts on single ones."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Two columns, a table, and a map a signal where there was one a route and model."""
    _one_map_a_signal()
    op.add_column(
        "answers",
        sa.Column("claims", sa.JSON, comment="of a long answer: place, Betas and support of each claim, without text"),
    )
    op.add_column(
        "texts",
        sa.Column(
            "claims", sa.JSON, comment="of a long answer: the words of each claim, in the order of `answers.claims`"
        ),
    )
    op.create_table(
        "claim_verdicts",
        sa.Column("id", sa.Integer),
        sa.Column("answer_id", sa.String(32), nullable=False),
        sa.Column("claim", sa.Integer, nullable=False, comment="index into `answers.claims`"),
        sa.Column("created_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
        sa.Column("correct", sa.Float, nullable=False, comment="0 wrong .. 1 right"),
        sa.Column("source", sa.String(32), nullable=False, comment="who says so"),
        sa.Column("raw_alpha", sa.Float, comment="of the claim, as `answers.claims` has it"),
        sa.Column("raw_beta", sa.Float),
        sa.Column("alpha", sa.Float, comment="calibrated"),
        sa.Column("beta", sa.Float, comment="calibrated"),
        sa.Column("fd_raw", sa.Float, comment="nats, of the raw confidence"),
        sa.Column("fd", sa.Float, comment="nats, of the calibrated confidence"),
        sa.Column("brier_raw", sa.Float, comment="expected Brier score of the raw confidence, 0..1"),
        sa.Column("brier", sa.Float, comment="expected Brier score of the calibrated confidence, 0..1"),
        sa.Column("nll_raw", sa.Float, comment="expected negative log-likelihood of the raw confidence, nats"),
        sa.Column("nll", sa.Float, comment="expected negative log-likelihood of the calibrated confidence, nats"),
        sa.Column(
            "kind", sa.String(8), nullable=False, server_default="client", comment="client, human, import or grader"
        ),
        sa.Column("actor", sa.String(64), comment="who exactly, where known"),
        sa.Column("note", sa.Text),
        sa.Column("current", sa.Boolean, nullable=False, server_default=sa.true(), comment="the one that counts"),
        sa.PrimaryKeyConstraint("id", name="pk_claim_verdicts"),
        sa.ForeignKeyConstraint(["answer_id"], ["answers.id"], name="fk_claim_verdicts_answer_id"),
        comment="Verdicts on single claims of long answers, apart from those on whole answers.",
    )
    op.create_index("ix_claim_verdicts_answer_id", "claim_verdicts", ["answer_id"])
    current = sa.text("current")
    op.create_index(
        "ix_claim_verdicts_current",
        "claim_verdicts",
        ["answer_id", "claim"],
        unique=True,
        sqlite_where=current,
        postgresql_where=current,
    )


def _one_map_a_signal() -> None:
    """`version` becomes a part of the key of `active_maps`: the table is made anew, since SQLite changes no key."""
    connection = op.get_bind()
    rows = [
        tuple(row) for row in connection.execute(sa.text("SELECT route, model, version, updated_at FROM active_maps"))
    ]
    op.drop_table("active_maps")
    table = op.create_table(
        "active_maps",
        sa.Column("route", sa.String(64), comment="empty: any"),
        sa.Column("model", sa.String(256), comment="empty: any"),
        sa.Column("version", sa.String(128), comment="in `maps`, or in the folder of the configuration"),
        sa.Column("updated_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
        sa.PrimaryKeyConstraint("route", "model", "version", name="pk_active_maps"),
        comment="Which maps routes with `map: auto` use, by route and model; one a signal.",
    )
    op.bulk_insert(table, [dict(zip(("route", "model", "version", "updated_at"), row, strict=True)) for row in rows])


def downgrade() -> None:
    """Verdicts on claims, and their confidences, are lost; the key of `active_maps` stays as it is."""
    op.drop_table("claim_verdicts")
    op.drop_column("texts", "claims")
    op.drop_column("answers", "claims")
