"""The audit's tables. After the first release, a change here needs a migration (`proxy/audit/migrations/versions`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _origin_columns() -> list[sa.Column[Any]]:
    """Columns by which verdicts are told that depend on each other."""
    asker = "pseudonym of whom the answer was for: user:..., else conversation:...; erased:... after an erasure"
    return [
        sa.Column("asker", sa.String(32), comment=asker),
        sa.Column("question_hash", sa.String(16), comment="pseudonym of the question"),
    ]


answers = sa.Table(
    "answers",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True, comment="audit id, sorts by time"),
    sa.Column("created_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
    sa.Column(
        "response_id", sa.String(128), index=True, comment="the completion's own id; feedback may name it instead"
    ),
    sa.Column("route", sa.String(64), comment="null where no route took the request"),
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
    sa.Column("story", sa.JSON, comment="the work step by step, without text"),
    sa.Column("fd_expected", sa.Float, comment="nats; expectation of the divergence under the calibrated mean"),
    sa.Column(
        "perceived_alpha",
        sa.Float,
        comment="perceived confidence of the final words (shadow: of what would have been served)",
    ),
    sa.Column(
        "perceived_beta",
        sa.Float,
        comment="perceived confidence of the final words (shadow: of what would have been served)",
    ),
    sa.Column("store_text", sa.String(8), comment="what `texts` holds: none, hashed, redacted, full"),
    sa.Column(
        "user_hash", sa.String(64), index=True, comment="of the client's own name for its user; null once erased"
    ),
    sa.Column("erased_at", sa.Float, comment="when texts and user_hash were dropped, seconds since 1970, UTC"),
    sa.Column("salt", sa.String(32), comment="of the digest; dropped with what it covers"),
    sa.Column("digest", sa.String(64), comment="SHA-256 of salt, user_hash and texts, so that these can go"),
    sa.Column("writer", sa.String(32), comment="the process that wrote the row; null: outside every chain"),
    sa.Column("seq", sa.BigInteger, comment="1, 2, ... in the chain of this writer and route"),
    sa.Column("previous", sa.String(64), comment="hash of the row before; of nothing for the first: 64 zeros"),
    sa.Column("hash", sa.String(64), comment="SHA-256 (HMAC with `audit.hash_key`) of `previous` and the row"),
    sa.Column("claims", sa.JSON, comment="of a long answer: place, Betas and support of each claim, without text"),
    sa.Column("own_alpha", sa.Float, comment="perceived confidence of the draft's own words"),
    sa.Column("own_beta", sa.Float, comment="perceived confidence of the draft's own words"),
    sa.Column("certificate", sa.String(160), comment="id of the one that decided what was served"),
    sa.Column("promised", sa.JSON, comment="the promises that cover the answer, or why not; its language"),
    sa.Column("key", sa.String(64), comment="name of the key that the request came with"),
    sa.Column("team", sa.String(64), comment="of that key at the time"),
    sa.Column("arm", sa.String(8), comment="mode that a split route gave the request by lot; null: not by lot"),
    sa.Column("cost_answer", sa.Float, comment="US dollars; null: not known"),
    sa.Column(
        "cost_calibration", sa.Float, comment="US dollars, of samples, judge, rewriting and escalation; null: not known"
    ),
    *_origin_columns(),
    sa.Index("ix_answers_route_created_at", "route", "created_at"),
    sa.Index(
        "ix_answers_counted",
        *("created_at", "id", "route", "mode", "status", "reason", "raw_alpha", "raw_beta", "alpha", "beta"),
        *("tokens_answer", "tokens_samples", "tokens_rewrite", "tokens_escalation", "duration_ms"),
        *("key", "model", "arm", "cost_answer", "cost_calibration"),
    ),
    sa.Index("ix_answers_chain", "writer", "route", "seq", unique=True),
)


def _index_answers_with(given: str, name: str, *columns: str) -> None:
    """Index the answers in which a column is not null; in most it is null."""
    where = answers.c[given].is_not(None)
    sa.Index(name, *(answers.c[column] for column in columns), info={"sqlite": where, "postgresql": where})


_index_answers_with("key", "ix_answers_key_created_at", "key", "created_at")
_index_answers_with("arm", "ix_answers_arm", "route", "arm")
# all columns that pages read of answers with a confidence: perceived confidence and wording
_index_answers_with(
    *("raw_alpha", "ix_answers_measured", "created_at", "route", "raw_alpha", "raw_beta", "alpha", "beta"),
    *("perceived_alpha", "perceived_beta", "own_alpha", "own_beta", "status", "hedge"),
)

texts = sa.Table(
    "texts",
    metadata,
    sa.Column("answer_id", sa.String(32), sa.ForeignKey("answers.id"), primary_key=True),
    sa.Column("question", sa.Text, comment="the user's last message"),
    sa.Column("draft", sa.Text, comment="the plain answer"),
    sa.Column("answer", sa.Text, comment="the final words (shadow: what would have been served)"),
    sa.Column("served", sa.Text, comment="shadow: what the client got"),
    sa.Column("samples", sa.JSON, comment="the answers drawn, in order; null where one has no text"),
    sa.Column("claims", sa.JSON, comment="of a long answer: the words of each claim, in the order of `answers.claims`"),
    comment="Texts, apart from the figures: dropped by retention and erasure, which the chain survives.",
)

chains = sa.Table(
    "chains",
    metadata,
    sa.Column("writer", sa.String(32), primary_key=True),
    sa.Column("route", sa.String(64), primary_key=True, comment="empty where no route took the request"),
    sa.Column("start_seq", sa.BigInteger, nullable=False, comment="rows up to here were purged; 0: none"),
    sa.Column("start_hash", sa.String(64), nullable=False, comment="hash of the last purged row; 64 zeros: none"),
    sa.Column("start_seal", sa.String(64), nullable=False, comment="SHA-256 (HMAC with `audit.hash_key`) of the start"),
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    sa.Column("last_hash", sa.String(64), nullable=False),
    sa.Column("last_seal", sa.String(64), nullable=False, comment="SHA-256 (HMAC with `audit.hash_key`) of the end"),
    sa.Column("updated_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
    comment="Both ends of every chain of rows.",
)


CURRENT: Mapping[str, Any] = {"info": {"sqlite": sa.text("current = 1"), "postgresql": sa.text("current")}}
"""Condition of an index on current verdicts, in exactly the form that queries use: SQLite compares the form."""


@sa.event.listens_for(metadata, "before_create")
def give_conditions(_metadata: sa.MetaData, connection: sa.Connection, **_: Any) -> None:
    """Set the conditions of partial indices. In their definitions, they would load the dialects of all databases at every start."""
    name = connection.dialect.name
    for index in (index for table in metadata.tables.values() for index in table.indexes if name in index.info):
        index.dialect_kwargs[f"{name}_where"] = index.info[name]


def _verdict_columns() -> list[sa.Column[Any]]:
    """Columns of every verdict: its answer, the outcome, its source, and the scores of the confidence."""
    return [
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("answer_id", sa.String(32), sa.ForeignKey("answers.id"), nullable=False, index=True),
        sa.Column("created_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
        sa.Column("correct", sa.Float, nullable=False, comment="0 wrong .. 1 right"),
        sa.Column("source", sa.String(32), nullable=False, comment="who says so"),
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
        sa.Column("propensity", sa.Float, comment="probability with which the answer was drawn for it; null: not told"),
    ]


verdicts = sa.Table(
    "verdicts",
    metadata,
    *_verdict_columns(),
    sa.Column("fd_perceived", sa.Float, comment="nats, of the perceived confidence"),
)
sa.Index("ix_verdicts_current", verdicts.c.answer_id, unique=True, **CURRENT)
"""At most one verdict of an answer counts: take the mark from the old one before the new one gets it."""
sa.Index("ix_verdicts_newest", verdicts.c.created_at, **CURRENT)
sa.Index("ix_verdicts_fd", verdicts.c.fd, **CURRENT)

claim_verdicts = sa.Table(
    "claim_verdicts",
    metadata,
    *_verdict_columns(),
    sa.Column("claim", sa.Integer, nullable=False, comment="index into `answers.claims`"),
    sa.Column("raw_alpha", sa.Float, comment="of the claim, as `answers.claims` has it"),
    sa.Column("raw_beta", sa.Float),
    sa.Column("alpha", sa.Float, comment="calibrated"),
    sa.Column("beta", sa.Float, comment="calibrated"),
    comment="Verdicts on single claims of long answers, apart from those on whole answers.",
)
sa.Index("ix_claim_verdicts_current", claim_verdicts.c.answer_id, claim_verdicts.c.claim, unique=True, **CURRENT)
sa.Index("ix_claim_verdicts_newest", claim_verdicts.c.created_at, **CURRENT)

changes = sa.Table(
    "changes",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("created_at", sa.Float, nullable=False, index=True, comment="seconds since 1970, UTC"),
    sa.Column("actor", sa.String(64), nullable=False, comment="who did it"),
    sa.Column("what", sa.String(32), nullable=False, comment="mode, map, erase, purge, reload, ..."),
    sa.Column("route", sa.String(64), comment="null: all of them"),
    sa.Column("before", sa.Text),
    sa.Column("after", sa.Text),
    sa.Column("note", sa.Text),
    comment="Changes by operators. Rows are added, never changed.",
)

route_states = sa.Table(
    "route_states",
    metadata,
    sa.Column("route", sa.String(64), primary_key=True),
    sa.Column("mode", sa.String(8), comment="off, shadow, on; null: the configuration's"),
    sa.Column("map_id", sa.String(128), comment="null: the registry's active map"),
    sa.Column("updated_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
    sa.Column("actor", sa.String(64), nullable=False),
    comment="What operators set at run time; every worker reads it.",
)

alarms = sa.Table(
    "alarms",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("created_at", sa.Float, nullable=False, index=True, comment="seconds since 1970, UTC"),
    sa.Column("route", sa.String(64), nullable=False),
    sa.Column("map_id", sa.String(128), comment="null: no map"),
    sa.Column("kind", sa.String(32), nullable=False, comment="which test found it"),
    sa.Column("statistic", sa.Float, nullable=False),
    sa.Column("threshold", sa.Float, nullable=False),
    sa.Column("cleared_at", sa.Float, comment="null: it stands"),
    sa.Column("actor", sa.String(64), comment="who cleared it"),
    comment="Maps that no longer fit what their route sees.",
)

maps = sa.Table(
    "maps",
    metadata,
    sa.Column("version", sa.String(128), primary_key=True),
    sa.Column("content", sa.Text, nullable=False, comment="JSON: the map and where it comes from"),
    sa.Column("sha256", sa.String(64), nullable=False, comment="of `content`"),
    sa.Column("created_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
    comment="Fitted calibration maps. Rows are added, never changed.",
)

active_maps = sa.Table(
    "active_maps",
    metadata,
    sa.Column("route", sa.String(64), primary_key=True, comment="empty: any"),
    sa.Column("model", sa.String(256), primary_key=True, comment="empty: any"),
    sa.Column("version", sa.String(128), primary_key=True, comment="in `maps`, or in the folder of the configuration"),
    sa.Column("updated_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
    comment="Which maps routes with `map: auto` use, by route and model; one a signal.",
)

certificates = sa.Table(
    "certificates",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False, comment="1, 2, ... in their one chain"),
    sa.Column("id", sa.String(160), nullable=False, unique=True),
    sa.Column("created_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
    sa.Column("route", sa.String(64), nullable=False, comment="empty: any"),
    sa.Column("map_id", sa.String(128), comment="whose confidences the thresholds are for; null: uncalibrated"),
    sa.Column("content", sa.Text, nullable=False, comment="JSON: the certificate, its seal, and the seal before it"),
    comment="Certificates of promises. Rows are added, never changed.",
)

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("team", sa.String(64), comment="whom it belongs to"),
    sa.Column("role", sa.String(16), comment="viewer, reviewer, operator: of a person; null: of a client"),
    sa.Column(
        "hash", sa.String(64), nullable=False, unique=True, comment="SHA-256 of its secret, which is kept nowhere"
    ),
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
    sa.Column("revision", sa.BigInteger, nullable=False, index=True, comment="grows with every change of the table"),
    comment="Named keys of clients and people. Rows are changed, never deleted: the audit names them.",
)

leases = sa.Table(
    "leases",
    metadata,
    sa.Column("duty", sa.String(16), primary_key=True, comment="drift, purge"),
    sa.Column("holder", sa.String(64), nullable=False, comment="the process that does it, by the name of its chains"),
    sa.Column("until", sa.Float, nullable=False, comment="seconds since 1970, UTC; past: anybody may take it"),
    sa.Column("report", sa.Text, comment="JSON: what the holder found last"),
    comment="Work that one process does for all.",
)

under_way = sa.Table(
    "under_way",
    metadata,
    sa.Column("response_id", sa.String(128), primary_key=True, comment="the completion's own id"),
    sa.Column("until", sa.Float, nullable=False, comment="seconds since 1970, UTC; by then its row is there"),
    comment="Answers that clients have and whose rows are still being made: those of shadow.",
)

spending = sa.Table(
    "spending",
    metadata,
    sa.Column("name", sa.String(200), primary_key=True, comment="unit, route and key; * for all of them together"),
    sa.Column("day", sa.String(10), primary_key=True, comment="UTC, as 2026-11-22"),
    sa.Column(
        "holder",
        sa.String(32),
        primary_key=True,
        comment="the process that counted, or the request that it is held for",
    ),
    sa.Column("used", sa.Float, nullable=False, comment="tokens or dollars spent"),
    sa.Column("held", sa.Float, nullable=False, comment="for a request under way"),
    sa.Column("largest", sa.Float, nullable=False, comment="of the last requests, fading"),
    sa.Column("seen_at", sa.Float, nullable=False, comment="seconds since 1970, UTC"),
    comment="What calibrated requests spend in a day, counted against budgets.",
)

hours = sa.Table(
    "hours",
    metadata,
    sa.Column(
        "hour", sa.BigInteger, primary_key=True, autoincrement=False, comment="when it began, seconds since 1970"
    ),
    comment="Hours that are summed up in `hour_endings` and `hour_counts`. What changes their rows drops them from all three.",
)

hour_endings = sa.Table(
    "hour_endings",
    metadata,
    sa.Column("hour", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("route", sa.String(64), primary_key=True, comment="empty where no route took the request"),
    sa.Column("mode", sa.String(8), primary_key=True, comment="empty: none"),
    sa.Column("status", sa.String(16), primary_key=True),
    sa.Column("reason", sa.String(64), primary_key=True, comment="empty: none"),
    sa.Column("requests", sa.BigInteger, nullable=False),
    sa.Column("tokens_answer", sa.BigInteger, nullable=False),
    sa.Column("tokens_samples", sa.BigInteger, nullable=False),
    sa.Column("tokens_rewrite", sa.BigInteger, nullable=False),
    sa.Column("tokens_escalation", sa.BigInteger, nullable=False),
    sa.Column("duration_ms", sa.Float, nullable=False, comment="summed"),
    sa.Column("cost_answer", sa.Float, nullable=False, comment="US dollars, where both costs are known"),
    sa.Column("cost_calibration", sa.Float, nullable=False, comment="US dollars, where both costs are known"),
    sa.Column(
        "unpriced", sa.BigInteger, nullable=False, comment="answers with a confidence of which not both costs are known"
    ),
    comment="Of an hour, the requests that ended alike.",
)

hour_counts = sa.Table(
    "hour_counts",
    metadata,
    sa.Column("hour", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column(
        "kind",
        sa.String(16),
        primary_key=True,
        comment="raw, calibrated: of which mean confidence",
    ),
    sa.Column("route", sa.String(64), primary_key=True, comment="empty where no route took the request"),
    sa.Column("name", sa.String(64), primary_key=True, comment="the cell of the confidence, counted from 0"),
    sa.Column("answers", sa.BigInteger, nullable=False),
    comment="Of an hour, the answers of one confidence.",
)

promised_verdicts = sa.Table(
    "promised_verdicts",
    metadata,
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
    *_origin_columns(),
    sa.Index("ix_promised_verdicts_certificate", "certificate"),
    comment="Of judged answers that retention deleted, what the watch over promises reads: no text, no user.",
)

promised_answers = sa.Table(
    "promised_answers",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("route", sa.String(64), nullable=False),
    sa.Column("certificate", sa.String(160), nullable=False, comment="id of the one that decided what was served"),
    sa.Column("first_at", sa.Float, nullable=False, comment="when the first was asked for, seconds since 1970, UTC"),
    sa.Column("until", sa.Float, nullable=False, comment="all of the route's that were asked for before are counted"),
    sa.Column("statuses", sa.JSON, nullable=False, comment="how many, by what became of them"),
    sa.Column("not_given", sa.Text, nullable=False, comment="a bit each, in order: 1 = not given; hexadecimal"),
    sa.Index("ix_promised_answers_certificate", "certificate"),
    sa.Index("ix_promised_answers_route", "route", "until"),
    comment="Of answers that retention deletes, whether they were given: up to a thousand in a row.",
)
