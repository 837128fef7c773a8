"""Named keys: a table, and in the audit the key that each request came with."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """A table, two columns of answers and their index."""
    op.create_table(
        "keys",
        sa.Column("name", sa.String(64)),
        sa.Column("team", sa.String(64), comment="whom it belongs to"),
        sa.Column("role", sa.String(16), comment="viewer, reviewer, operator: of a person; null: of a client"),
        sa.Column("hash", sa.String(64), nullable=False, comment="SHA-256 of its secret, which is kept nowhere"),
        sa.Column("hint", sa.String(8), nullable=False, comment="the last characters of its secret"),
        sa.Column("previous_hash", sa.String(64), comment="of the secret before the last rotation"),
        sa.Column("previous_until", sa.Float, comment="when that secret ends, seconds since 1970, UTC"),
        sa.Column("routes", sa.JSON, comment="names of the only routes that it may use; null: all"),
        sa.Column("requests_per_minute", sa.Integer),
        sa.Column("tokens_per_minute", sa.Integer),
        sa.Column("concurrency", sa.Integer, comment="most requests in flight at once"),
        sa.Column("created_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
        sa.Column("created_by", sa.String(64), nullable=False),
        sa.Column("expires_at", sa.Float, comment="seconds since 1970, UTC"),
        sa.Column("revoked_at", sa.Float, comment="seconds since 1970, UTC"),
        sa.Column("revision", sa.BigInteger, nullable=False, comment="grows with every change of the table"),
        sa.PrimaryKeyConstraint("name", name="pk_keys"),
        sa.UniqueConstraint("hash", name="uq_keys_hash"),
        comment="Named keys of clients and people. Rows are changed, never deleted: the audit names them.",
    )
    op.create_index("ix_keys_revision", "keys", ["revision"])
    op.add_column("answers", sa.Column("key", sa.String(64), comment="name of the key that the request came with"))
    op.add_column("answers", sa.Column("team", sa.String(64), comment="of that key at the time"))
    named = sa.text("key IS NOT NULL")
    op.create_index(
        "ix_answers_key_created_at", "answers", ["key", "created_at"], sqlite_where=named, postgresql_where=named
    )


def downgrade() -> None:
    """Keys are lost, and which key a request came with."""
    op.drop_index("ix_answers_key_created_at", "answers")
    op.drop_column("answers", "team")
    op.drop_column("answers", "key")
    op.drop_table("keys")
