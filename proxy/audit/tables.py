"""The audit's tables. A change here needs a migration beside it (`proxy/audit/migrations/versions`)."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

answers = sa.Table(
    "answers",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True, comment="audit id, sorts by time"),
    sa.Column("created_at", sa.Float, nullable=False, index=True, comment="seconds since 1970, UTC"),
    sa.Column(
        "response_id", sa.String(128), index=True, comment="the completion's own id; feedback may name it instead"
    ),
    sa.Column("route", sa.String(64), index=True, comment="null where no route took the request"),
    sa.Column("path", sa.String(256), nullable=False),
    sa.Column("mode", sa.String(8), comment="off, shadow, on"),
    sa.Column("status", sa.String(16), nullable=False, comment="what the client got, see docs/api.md"),
    sa.Column("reason", sa.String(64), comment="why, where the answer was not hedged"),
    sa.Column("http_status", sa.Integer, comment="what the client got; null where it left first"),
    sa.Column("model", sa.String(256)),
    sa.Column("upstream", sa.String(64)),
    sa.Column("signal", sa.String(32)),
    sa.Column("samples", sa.Integer, comment="answers drawn"),
    sa.Column("clusters", sa.Integer, comment="meanings among them"),
    sa.Column("raw_alpha", sa.Float),
    sa.Column("raw_beta", sa.Float),
    sa.Column("alpha", sa.Float, comment="calibrated"),
    sa.Column("beta", sa.Float, comment="calibrated"),
    sa.Column("map_id", sa.String(128), comment="null: no map, the confidence is uncalibrated"),
    sa.Column("hedge", sa.String(64), comment="id of the lexicon entry"),
    sa.Column("rewriter", sa.String(32)),
    sa.Column("served_agrees", sa.Boolean, comment="shadow: whether the answer served means the same as the draft"),
    sa.Column("fd_if_right", sa.Float, comment="nats"),
    sa.Column("fd_if_wrong", sa.Float, comment="nats"),
    sa.Column("tokens_answer", sa.Integer, nullable=False, default=0, comment="prompt and draft"),
    sa.Column("tokens_samples", sa.Integer, nullable=False, default=0),
    sa.Column("tokens_rewrite", sa.Integer, nullable=False, default=0),
    sa.Column("tokens_escalation", sa.Integer, nullable=False, default=0),
    sa.Column("duration_ms", sa.Float, nullable=False),
    sa.Column("story", sa.JSON, comment="the work step by step; holds text only where the route stores text"),
)

verdicts = sa.Table(
    "verdicts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("answer_id", sa.String(32), sa.ForeignKey("answers.id"), nullable=False, index=True),
    sa.Column("created_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
    sa.Column("correct", sa.Float, nullable=False, comment="0 wrong .. 1 right"),
    sa.Column("source", sa.String(32), nullable=False, comment="who says so"),
    sa.Column("fd_raw", sa.Float, comment="nats, of the raw confidence"),
    sa.Column("fd", sa.Float, comment="nats, of the calibrated confidence"),
)
