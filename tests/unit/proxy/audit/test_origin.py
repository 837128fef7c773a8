"""Pseudonyms of whom an answer was for and of its question: the same for what belongs together, gone when that is asked for."""

from __future__ import annotations

import time
from typing import Any

from pydantic import SecretStr

from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.retention import DAY_S, erase, purge
from hedgerow.proxy.audit.rows import Entry, Texts, prepare, user_hash
from tests.support.tables import cases
from tests.unit.proxy.audit.conftest import Store
from tests.unit.proxy.audit.test_chain import verify
from tests.unit.proxy.audit.test_retention import settings


def entry(name: str, *, question: str = "Who?", days: float = 0.0, **more: Any) -> Entry:
    row = {"id": name, "created_at": time.time() - days * DAY_S, "path": "/x", "status": "hedged", "duration_ms": 1.0}
    return Entry(row | {"route": "r"}, Texts(question, "draft"), **{"store_text": "full"} | more)


def origin(one: Entry, key: bytes = b"") -> tuple[str | None, str | None]:
    row = prepare(one, key).row
    return row["asker"], row["question_hash"]


def test_the_user_goes_before_the_conversation_and_a_question_is_the_same_whatever_its_case() -> None:
    ada, again = (
        origin(entry("a", user="ada", conversation=told, question=q)) for told, q in (("1", "Who?"), ("2", " who? "))
    )
    assert ada == again
    assert ada[0] is not None
    assert ada[0].startswith("user:")
    one, other = (origin(entry("a", conversation=told))[0] for told in ("1", "2"))
    assert one != other
    assert str(one).startswith("conversation:")
    assert origin(entry("a", question="")) == (None, None)


@cases(("level", "key", "told"), [("none", b"", False), ("none", b"k" * 32, True), ("hashed", b"", True)])
def test_what_is_said_in_a_text_has_a_pseudonym_only_where_it_may_be_recognised(
    level: Any, key: bytes, told: bool
) -> None:
    """Where no text is kept, nobody may find out by a guess what was asked: only with a key, which nobody else has."""
    asker, question = origin(entry("a", conversation="Who?", store_text=level), key)
    assert ((asker is not None), (question is not None)) == (told, told)
    assert origin(entry("a", user="ada", store_text=level), key)[0] is not None


def test_a_pseudonym_is_no_part_of_the_hash_of_a_user() -> None:
    asker, _ = origin(entry("a", user="ada"))
    assert str(asker).partition(":")[2] not in user_hash("ada", b"")


def pseudonyms(store: Store) -> list[Any]:
    return store.sql("SELECT coalesce(asker, '') || ' ' || coalesce(question_hash, '') FROM answers ORDER BY id")


def test_an_erasure_takes_the_pseudonyms_and_retention_of_texts_leaves_them(store: Store) -> None:
    """The verdicts of the one who was erased still belong together, under a name that says nothing; also after the texts had gone by themselves."""
    store.settings = store.settings.model_copy(update={"hash_key": SecretStr("k" * 32)})
    store.write(*(entry(name, user=user, days=9) for name, user in (("a", "ada"), ("b", "ada"), ("c", "eve"))))
    before = pseudonyms(store)
    assert before[0] == before[1] != before[2]
    engine = open_engine(store.settings)
    assert purge(engine, settings(store, keep_texts_days=4), actor="test").texts == 3
    assert pseudonyms(store) == before
    assert erase(engine, actor="test", user="ada", key=b"k" * 32) == 2
    engine.dispose()
    first, second, third = pseudonyms(store)
    assert first == second
    assert first.startswith("erased:")
    assert first.endswith(" ")
    assert third == before[2]
    assert verify(store).findings == []
