"""How likely the answer of a verdict on a claim was drawn for it, as verdicts on answers have it."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

COMMENT = "probability with which the answer was drawn for it; null: not told"


def upgrade() -> None:
    """A column; not told for the verdicts that are there."""
    op.add_column("claim_verdicts", sa.Column("propensity", sa.Float, comment=COMMENT))


def downgrade() -> None:
    """It is lost."""
    op.drop_column("claim_verdicts", "propensity")
