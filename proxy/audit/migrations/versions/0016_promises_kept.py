"""What the watch over promises needs of rows that retention deletes."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Two tables, empty: what was deleted before is lost."""
    op.create_table(
        "promised_verdicts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("route", sa.String(64), nullable=False),
        sa.Column("certificate", sa.String(160), nullable=False, comment="id of the one that decided what was served"),
        sa.Column("answer_id", sa.String(32), nullable=False, comment="of the deleted answer"),
        sa.Column("verdict_id", sa.Integer, nullable=False, comment="of the deleted verdict"),
        sa.Column("created_at", sa.Float, nullable=False, comment="when the verdict came, seconds since 1970, UTC"),
        sa.Column("correct", sa.Float, nullable=False, comment="0 wrong .. 1 right"),
        sa.Column("kind", sa.String(8), nullable=False, comment="client, human, import or grader"),
        sa.Column("propensity", sa.Float, comment="probability with which the answer was drawn for it; null: not told"),
        sa.Column("promised", sa.JSON, comment="the promises that cover the answer; its language"),
        sa.Column("model", sa.String(256)),
        sa.Column("signal", sa.String(32)),
        sa.Column("path", sa.String(256)),
        sa.Column("key", sa.String(64)),
        sa.Column("team", sa.String(64)),
        sa.Column("regime", sa.Integer, comment="number of the map's regime that the question belongs to"),
        comment="Of judged answers that retention deleted, what the watch over promises reads: no text, no user.",
    )
    op.create_index("ix_promised_verdicts_certificate", "promised_verdicts", ["certificate"])
    op.create_table(
        "promised_answers",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("route", sa.String(64), nullable=False),
        sa.Column("certificate", sa.String(160), nullable=False, comment="id of the one that decided what was served"),
        sa.Column(
            "first_at", sa.Float, nullable=False, comment="when the first was asked for, seconds since 1970, UTC"
        ),
        sa.Column(
            "until", sa.Float, nullable=False, comment="all of the route's that were asked for before are counted"
        ),
        sa.Column("statuses", sa.JSON, nullable=False, comment="how many, by what became of them"),
        sa.Column("not_given", sa.Text, nullable=False, comment="a bit each, in order: 1 = not given; hexadecimal"),
        comment="Of answers that retention deletes, whether they were given: up to a thousand in a row.",
    )
    op.create_index("ix_promised_answers_certificate", "promised_answers", ["certificate"])
    op.create_index("ix_promised_answers_route", "promised_answers", ["route", "until"])


def downgrade() -> None:
    """Watches begin again with the rows that are there."""
    op.drop_table("promised_answers")
    op.drop_table("promised_verdicts")
