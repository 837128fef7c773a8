"""The first schema. An empty database gets the tables of `tables.py` and the newest revision's stamp, so that nothing is left to do here."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing: see `hedgerow.proxy.audit.engine.migrate`."""


def downgrade() -> None:
    """Nothing to do: this is the first schema."""
