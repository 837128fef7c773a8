"""Whose answers depend on each other, and notes of verdicts only where the texts of their answers are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

ASKER = "pseudonym of whom the answer was for: user:..., else conversation:...; erased:... after an erasure"
QUESTION = "pseudonym of the question"
WITHOUT_TEXTS = (
    "UPDATE {0} SET note = NULL WHERE answer_id IN "
    "(SELECT id FROM answers WHERE erased_at IS NOT NULL OR coalesce(store_text, 'none') IN ('none', 'hashed'))"
)


def upgrade() -> None:
    """Two columns; unknown for the rows that are there. Notes beside answers whose texts are not kept go."""
    for table in ("answers", "promised_verdicts"):
        op.add_column(table, sa.Column("asker", sa.String(32), comment=ASKER))
        op.add_column(table, sa.Column("question_hash", sa.String(16), comment=QUESTION))
    for table in ("verdicts", "claim_verdicts"):
        op.execute(WITHOUT_TEXTS.format(table))


def downgrade() -> None:
    """Verdicts count as if all were independent."""
    for table in ("answers", "promised_verdicts"):
        op.drop_column(table, "asker")
        op.drop_column(table, "question_hash")
