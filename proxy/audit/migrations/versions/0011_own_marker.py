"""The epistemic marker of the draft's own words."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

COMMENT = "the draft's one epistemic marker; <no_hedge>, <several>; null: not English, or no confidence"


def upgrade() -> None:
    """A column; unknown for the rows that are there."""
    op.add_column("answers", sa.Column("own_marker", sa.String(64), comment=COMMENT))


def downgrade() -> None:
    """They are lost."""
    op.drop_column("answers", "own_marker")
