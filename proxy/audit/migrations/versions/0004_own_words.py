"""How sure the draft's own words sound, beside what became of them."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

COLUMNS = ("own_alpha", "own_beta")


def upgrade() -> None:
    """Two columns; unknown for the rows that are there."""
    for name in COLUMNS:
        op.add_column("answers", sa.Column(name, sa.Float, comment="perceived confidence of the draft's own words"))


def downgrade() -> None:
    """They are lost."""
    for name in reversed(COLUMNS):
        op.drop_column("answers", name)
