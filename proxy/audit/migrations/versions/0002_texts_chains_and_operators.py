"""Texts apart from figures, chained rows, settled scores, and what operators do. There is no way back but a backup."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ROWS_AT_A_TIME = 1000
TEXTS = {"question": "question", "draft": "draft", "final": "answer", "served": "served", "samples": "samples"}
"""Keys of a story that held text, and the columns they go to."""


def upgrade() -> None:
    """Add what is new, and move texts out of the stories. Rows that stand stay unchained."""
    op.create_table(
        "alarms",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False, comment="seconds since 1970, UTC"),
        sa.Column("route", sa.String(length=64), nullable=False),
        sa.Column("map_id", sa.String(length=128), nullable=True, comment="null: no map"),
        sa.Column("kind", sa.String(length=32), nullable=False, comment="which test found it"),
        sa.Column("statistic", sa.Float(), nullable=False),
        sa.Column("threshold", sa.Float(), nullable=False),
        sa.Column("cleared_at", sa.Float(), nullable=True, comment="null: it stands"),
        sa.Column("actor", sa.String(length=64), nullable=True, comment="who cleared it"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alarms")),
        comment="Maps that no longer fit what their route sees.",
    )
    op.create_index(op.f("ix_alarms_created_at"), "alarms", ["created_at"], unique=False)
    op.create_table(
        "chains",
        sa.Column("writer", sa.String(length=32), nullable=False),
        sa.Column("route", sa.String(length=64), nullable=False, comment="empty where no route took the request"),
        sa.Column("start_seq", sa.BigInteger(), nullable=False, comment="rows up to here were purged; 0: none"),
        sa.Column(
            "start_hash", sa.String(length=64), nullable=False, comment="hash of the last purged row; 64 zeros: none"
        ),
        sa.Column(
            "start_seal",
            sa.String(length=64),
            nullable=False,
            comment="SHA-256 (HMAC with `audit.hash_key`) of the start",
        ),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_hash", sa.String(length=64), nullable=False),
        sa.Column(
            "last_seal", sa.String(length=64), nullable=False, comment="SHA-256 (HMAC with `audit.hash_key`) of the end"
        ),
        sa.Column("updated_at", sa.Float(), nullable=False, comment="seconds since 1970, UTC"),
        sa.PrimaryKeyConstraint("writer", "route", name=op.f("pk_chains")),
        comment="Both ends of every chain of rows.",
    )
    op.create_table(
        "changes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False, comment="seconds since 1970, UTC"),
        sa.Column("actor", sa.String(length=64), nullable=False, comment="who did it"),
        sa.Column("what", sa.String(length=32), nullable=False, comment="mode, map, erase, purge, reload, ..."),
        sa.Column("route", sa.String(length=64), nullable=True, comment="null: all of them"),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changes")),
        comment="What operators did. Rows are added, never changed.",
    )
    op.create_index(op.f("ix_changes_created_at"), "changes", ["created_at"], unique=False)
    op.create_table(
        "route_states",
        sa.Column("route", sa.String(length=64), nullable=False),
        sa.Column("mode", sa.String(length=8), nullable=True, comment="off, shadow, on; null: the configuration's"),
        sa.Column("map_id", sa.String(length=128), nullable=True, comment="null: the registry's active map"),
        sa.Column("updated_at", sa.Float(), nullable=False, comment="seconds since 1970, UTC"),
        sa.Column("actor", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("route", name=op.f("pk_route_states")),
        comment="What operators set at run time; every worker reads it.",
    )
    op.create_table(
        "texts",
        sa.Column("answer_id", sa.String(length=32), nullable=False),
        sa.Column("question", sa.Text(), nullable=True, comment="the user's last message"),
        sa.Column("draft", sa.Text(), nullable=True, comment="the plain answer"),
        sa.Column("answer", sa.Text(), nullable=True, comment="the final words (shadow: what would have been said)"),
        sa.Column("served", sa.Text(), nullable=True, comment="shadow: what the client got"),
        sa.Column(
            "samples", sa.JSON(), nullable=True, comment="the answers drawn, in order; null where one has no text"
        ),
        sa.ForeignKeyConstraint(["answer_id"], ["answers.id"], name=op.f("fk_texts_answer_id")),
        sa.PrimaryKeyConstraint("answer_id", name=op.f("pk_texts")),
        comment="What was said, apart from the figures: dropped by retention and erasure, which the chain survives.",
    )
    op.add_column(
        "answers",
        sa.Column(
            "fd_expected",
            sa.Float(),
            nullable=True,
            comment="nats; expectation of the divergence under the calibrated mean",
        ),
    )
    op.add_column(
        "answers",
        sa.Column(
            "perceived_alpha",
            sa.Float(),
            nullable=True,
            comment="heard in the final words (shadow: in what would have been said)",
        ),
    )
    op.add_column(
        "answers",
        sa.Column(
            "perceived_beta",
            sa.Float(),
            nullable=True,
            comment="heard in the final words (shadow: in what would have been said)",
        ),
    )
    op.add_column(
        "answers",
        sa.Column(
            "store_text", sa.String(length=8), nullable=True, comment="what `texts` holds: none, hashed, redacted, full"
        ),
    )
    op.add_column(
        "answers",
        sa.Column(
            "user_hash",
            sa.String(length=64),
            nullable=True,
            comment="of the client's own name for its user; null once erased",
        ),
    )
    op.add_column(
        "answers",
        sa.Column(
            "erased_at",
            sa.Float(),
            nullable=True,
            comment="when texts and user_hash were dropped, seconds since 1970, UTC",
        ),
    )
    op.add_column(
        "answers",
        sa.Column("salt", sa.String(length=32), nullable=True, comment="of the digest; dropped with what it covers"),
    )
    op.add_column(
        "answers",
        sa.Column(
            "digest",
            sa.String(length=64),
            nullable=True,
            comment="SHA-256 of salt, user_hash and texts, so that these can go",
        ),
    )
    op.add_column(
        "answers",
        sa.Column(
            "writer",
            sa.String(length=32),
            nullable=True,
            comment="the process that wrote the row; null: from before rows were chained",
        ),
    )
    op.add_column(
        "answers",
        sa.Column("seq", sa.BigInteger(), nullable=True, comment="1, 2, ... in the chain of this writer and route"),
    )
    op.add_column(
        "answers",
        sa.Column(
            "previous",
            sa.String(length=64),
            nullable=True,
            comment="hash of the row before; of nothing for the first: 64 zeros",
        ),
    )
    op.add_column(
        "answers",
        sa.Column(
            "hash",
            sa.String(length=64),
            nullable=True,
            comment="SHA-256 (HMAC with `audit.hash_key`) of `previous` and the row",
        ),
    )
    op.drop_index(op.f("ix_answers_route"), table_name="answers")
    op.create_index("ix_answers_chain", "answers", ["writer", "route", "seq"], unique=True)
    op.create_index("ix_answers_route_created_at", "answers", ["route", "created_at"], unique=False)
    op.create_index(op.f("ix_answers_user_hash"), "answers", ["user_hash"], unique=False)
    op.add_column(
        "verdicts",
        sa.Column("fd_perceived", sa.Float(), nullable=True, comment="nats, of the confidence heard in the words"),
    )
    op.add_column(
        "verdicts",
        sa.Column("brier_raw", sa.Float(), nullable=True, comment="expected Brier score of the raw confidence, 0..1"),
    )
    op.add_column(
        "verdicts",
        sa.Column(
            "brier", sa.Float(), nullable=True, comment="expected Brier score of the calibrated confidence, 0..1"
        ),
    )
    op.add_column(
        "verdicts",
        sa.Column(
            "nll_raw", sa.Float(), nullable=True, comment="expected negative log-likelihood of the raw confidence, nats"
        ),
    )
    op.add_column(
        "verdicts",
        sa.Column(
            "nll",
            sa.Float(),
            nullable=True,
            comment="expected negative log-likelihood of the calibrated confidence, nats",
        ),
    )
    op.add_column(
        "verdicts",
        sa.Column(
            "kind",
            sa.String(length=8),
            server_default="client",
            nullable=False,
            comment="client, human, import or grader",
        ),
    )
    op.add_column(
        "verdicts", sa.Column("actor", sa.String(length=64), nullable=True, comment="who exactly, where known")
    )
    op.add_column("verdicts", sa.Column("note", sa.Text(), nullable=True))
    op.add_column(
        "verdicts",
        sa.Column("current", sa.Boolean(), server_default=sa.true(), nullable=False, comment="the one that counts"),
    )
    op.execute("UPDATE verdicts SET current = false WHERE id NOT IN (SELECT max(id) FROM verdicts GROUP BY answer_id)")
    op.create_index(
        "ix_verdicts_current",
        "verdicts",
        ["answer_id"],
        unique=True,
        sqlite_where=sa.text("current"),
        postgresql_where=sa.text("current"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("answers", "story", comment="the work step by step, without text")
    _move_texts(op.get_bind())


def _move_texts(connection: sa.Connection) -> None:
    answers = sa.table("answers", sa.column("id", sa.String), sa.column("story", sa.JSON), sa.column("store_text"))
    texts = sa.table(
        "texts",
        *(sa.column(name, sa.Text) for name in ("answer_id", "question", "draft", "answer", "served")),
        sa.column("samples", sa.JSON),
    )
    last = ""
    while True:
        page = sa.select(answers.c.id, answers.c.story).where(answers.c.id > last).order_by(answers.c.id)
        rows = connection.execute(page.limit(ROWS_AT_A_TIME)).all()
        if not rows:
            return
        last = rows[-1].id
        for id, story in rows:
            found = {column: _storable(story[key]) for key, column in TEXTS.items() if story and key in story}
            if not found:
                continue
            figures = {key: value for key, value in story.items() if key not in TEXTS}
            connection.execute(sa.insert(texts).values(answer_id=id, **found))
            connection.execute(sa.update(answers).where(answers.c.id == id).values(story=figures, store_text="full"))


def _storable(value: object) -> object:
    """PostgreSQL keeps no NUL in text."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
