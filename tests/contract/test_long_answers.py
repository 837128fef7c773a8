"""Long answers through the real edge: each sentence at the confidence that the other answers give it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.contract.test_failures import rows_of
from tests.support.needs import EMBEDDED
from tests.support.upstream import Upstream, fails, ignores_n, never, says

ASK: list[Any] = [{"role": "user", "content": "Tell me about the Atomium."}]
SURE = "The Atomium stands in Brussels."
AUTHOR = "It was designed by André Waterkeyn."
HEIGHT = "It is {} metres tall."
YEAR = "It was built in {}."


def text(height: int = 102, year: int = 1958) -> str:
    return " ".join((SURE, AUTHOR, HEIGHT.format(height), YEAR.format(year)))


ANSWERS = [text(), text(height=165), text(year=1970), text(height=99), text(), text(height=80), text(), text(height=120), text(), text(height=77)]  # fmt: skip


UNCALIBRATED = {"hedge_uncalibrated_sentences": True}
"""Hedges by the raw support of each sentence, so that what is worded follows from the answers alone."""


def text_and_field(answer: Any) -> tuple[str, Any]:
    return answer.choices[0].message.content, answer.model_extra["hedgerow"]


def test_only_what_the_answers_disagree_on_is_hedged(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """Place and author stand in all ten answers, the year in nine, the height in one: only the last is in doubt, and worded so."""
    upstream.default = says(*(text(height=102 + 7 * i, year=1958 + 12 * (i == 2)) for i in range(10)))
    final, field = text_and_field(
        client_of(serve(rewriting=UNCALIBRATED)).chat.completions.create(model="m", messages=ASK)
    )
    assert final.startswith(f"{SURE} {AUTHOR} ")
    place, author, height, year = field["sentences"]
    assert (place["status"], author["status"], height["status"]) == ("plain", "plain", "hedged")
    assert height["confidence"] < year["confidence"] < place["confidence"]
    assert place["confidence"] > 0.9
    hedged = final[height["start"] : height["end"]]
    assert hedged != HEIGHT.format(102)
    assert "102 metres" in hedged
    assert height["hedge"] is not None
    assert (field["status"], field["signal"], field["uncalibrated"]) == ("hedged", "consistency", True)
    assert field["confidence"] == pytest.approx(fmean(each["confidence"] for each in field["sentences"]), abs=1e-4)
    (row,) = rows_of(tmp_path, 1)
    story = json.loads(row["story"])
    assert row["signal"] == "consistency"
    assert [one["confidence"] for one in story["sentences"]] == [one["confidence"] for one in field["sentences"]]
    assert row["answer"] == final


@pytest.mark.parametrize("stream", ["buffer", "append"])
def test_without_a_map_for_claims_a_long_answer_stays_plain(
    serve: Any, client_of: Any, upstream: Upstream, stream: str
) -> None:
    """Byte for byte, and the reason says that its sentences were not measured against labels; the raw figure is reported all the same."""
    upstream.default = says(*ANSWERS)
    client = client_of(serve(stream=stream))
    if stream == "append":
        chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True, seed=1))
        final, field = (
            "".join(c.choices[0].delta.content or "" for c in chunks if c.choices),
            chunks[-1].model_extra["hedgerow"],
        )
    else:
        final, field = text_and_field(client.chat.completions.create(model="m", messages=ASK))
    assert final in ANSWERS
    assert (field["status"], field["reason"], field["uncalibrated"]) == ("plain", "not_measured", True)
    assert 0.0 < field["confidence"] < 1.0


def test_a_map_fitted_on_labelled_claims_opens_long_answers(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """`hedgerow fit --signal consistency` on labelled claims; from then on the sentences are worded at what the map makes of them."""
    rows = [{"alpha": 9 * m, "beta": 9 * (1 - m), "correct": i % 10 < 10 * m - 4, "signal": "consistency"} for i in range(200) for m in (0.5, 0.7, 0.9)]  # fmt: skip
    data = tmp_path / "claims.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    options = [
        "--data",
        str(data),
        "--signal",
        "consistency",
        "--folder",
        str(tmp_path / "maps"),
        "--version",
        "of-claims",
        "--activate",
    ]
    done = CliRunner().invoke(app, ["fit", *options])
    assert done.exit_code == 0, done.output
    upstream.default = says(*ANSWERS)
    _, field = text_and_field(client_of(serve()).chat.completions.create(model="m", messages=ASK))
    assert (field["signal"], field["map"], field["uncalibrated"]) == ("consistency", "of-claims", False)
    assert field["status"] == "hedged"
    assert field["confidence"] < field["raw"]["mean"] - 0.05


READ = json.dumps(["s" * 9, "s" * 9, "sncnsnsnc", "ssssssssn"])
"""What a judge says of the four claims in the nine other answers."""


def test_a_language_model_reads_the_claims_in_one_call(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """One further call for all claims, whose tokens are reported; what it read stands beside each claim."""
    upstream.enqueue(says(*ANSWERS), says(READ))
    address = serve(rewriting=UNCALIBRATED, judge={"claims": "llm", "model": "judge-1"})
    _, field = text_and_field(client_of(address).chat.completions.create(model="m", messages=ASK))
    assert [call["model"] for call in upstream.calls] == ["m", "judge-1"]
    assert HEIGHT.format(102) in upstream.calls[1]["messages"][0]["content"]
    assert [(one["said_by"], one["contradicted_by"], one["by"]) for one in field["claims"]] == [
        (9, 0, "llm"),
        (9, 0, "llm"),
        (3, 2, "llm"),
        (8, 0, "llm"),
    ]
    assert field["usage"]["judge"]["prompt_tokens"] == 7


def found(*ratings: str, sentences: Sequence[int | None] = (1, 2, 3, 4), words: str = "", asked: int = 1) -> str:
    """A model's list of the claims of its answer, one a sentence unless said otherwise."""
    return json.dumps(
        [
            {"sentence": sentence, "words": words or "-", "asked": sentence == asked, "rating": rating}
            for sentence, rating in zip(sentences, ratings, strict=True)
        ]
    )


def test_the_model_that_answered_finds_and_rates_its_claims_in_one_call(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """`claims: stated` asks the model of the request, whatever model judges on the route; what it doubts is served less sure than by words."""
    upstream.enqueue(says(*ANSWERS), says(found("f", "f", "b", "f")), says(*ANSWERS))
    judge = {"claims": "stated", "model": "judge-1"}
    _, field = text_and_field(
        client_of(serve(rewriting=UNCALIBRATED, judge=judge)).chat.completions.create(model="m", messages=ASK)
    )
    assert [call["model"] for call in upstream.calls] == ["m", "m"]
    assert HEIGHT.format(102) in upstream.calls[1]["messages"][0]["content"]
    assert {one["by"] for one in field["claims"]} == {"stated"}
    assert [one["asked"] for one in field["claims"]] == [True, False, False, False]
    assert field["usage"]["judge"]["prompt_tokens"] == 7
    _, by_words = text_and_field(
        client_of(serve(rewriting=UNCALIBRATED)).chat.completions.create(model="m", messages=ASK)
    )
    assert field["claims"][2]["raw"] < by_words["claims"][2]["raw"]


def test_an_answer_in_which_the_model_finds_few_claims_is_worded_as_one(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """Four sentences, one claim: the confidence is that of the answers' meaning."""
    upstream.enqueue(says(*ANSWERS), says(found("f", sentences=[1])))
    judge = {"claims": "stated"}
    _, field = text_and_field(
        client_of(serve(rewriting=UNCALIBRATED, judge=judge)).chat.completions.create(model="m", messages=ASK)
    )
    assert (field["signal"], "claims" in field) == ("semantic", False)


@pytest.mark.parametrize("claims", ["llm", "stated"])
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (says("I cannot judge this."), "judge_nonsense"),
        (says('["s"]'), "judge_nonsense"),
        (says('[{"sentence": 9, "words": "x", "asked": true, "rating": "e"}]'), "judge_nonsense"),
        (fails(500, {"error": {"message": "no"}}), "model_unreachable"),
        (never(), "judge_late"),
    ],
)
def test_a_judge_of_claims_that_fails_leaves_the_words_to_tell(
    serve: Any, client_of: Any, upstream: Upstream, reply: Any, reason: str, claims: str
) -> None:
    """The answer comes all the same, measured by words, and each claim says why; a strict route serves the draft with the reason."""
    judge = {"claims": claims, "budget_s": 0.5}
    upstream.enqueue(says(*(text(height=102 + 7 * i) for i in range(10))), reply)
    _, field = text_and_field(
        client_of(serve(rewriting=UNCALIBRATED, judge=judge)).chat.completions.create(model="m", messages=ASK)
    )
    assert {one["by"] for one in field["claims"]} == {f"words:{reason}"}
    assert field["status"] == "hedged"
    upstream.enqueue(says(*ANSWERS), reply)
    _, field = text_and_field(
        client_of(serve(judge=judge | {"strict": True})).chat.completions.create(model="m", messages=ASK)
    )
    assert (field["status"], field["reason"]) == ("degraded", reason)


JUDGED = """
upstreams: {{ judging: {{ provider: openai, base_url: "{url}/v1", api_key: sk-unused, retries: 0 }} }}
routes: [{{ name: all, mode: "on", upstream: judging, judge: {{ model: judge-1 }} }}]
"""


def measured(command: str, row: dict[str, Any], config: Path) -> Any:
    options = [command, "--json", "--judge", "llm", "--config", str(config)]
    return CliRunner().invoke(app, options, input=json.dumps(row))


def test_recorded_answers_are_measured_with_a_language_model(upstream: Upstream, tmp_path: Path) -> None:
    """`hedgerow claims` and `hedgerow confidence` with `--judge llm`: one call a line at the route's judge; a reply that cannot be read is told
    on standard error and in `by`, and words or rules measure instead.
    """
    config = tmp_path / "config.yaml"
    config.write_text(JUDGED.format(url=upstream.url), encoding="utf-8")
    row = {"question": "Who built it?", "answer": SURE, "samples": ["It stands in Brussels.", "In Paris.", "A tower."]}
    upstream.enqueue(says('["scn"]'), says("Sorry."), says("[[0, 1], [2]]"), says("Sorry."))
    (claim,) = json.loads(measured("claims", row, config).stdout)["claims"]
    assert (claim["text"], claim["by"]) == (SURE, "llm")
    failed = measured("claims", row, config)
    assert json.loads(failed.stdout)["claims"][0]["by"] == "words:judge_nonsense"
    assert "line 1: measured without the judge. The judge's reply could not be read." in failed.stderr
    died = {"question": "What did he die of?", "samples": ["A heart attack.", "Myocardial infarction.", "A stroke."]}
    together = json.loads(measured("confidence", died, config).stdout)
    assert sorted(map(len, together["groups"])) == [1, 2]
    apart = measured("confidence", died, config)
    assert json.loads(apart.stdout)["groups"] == [[0], [1], [2]]
    assert "judge_nonsense" in apart.stderr
    assert [call["model"] for call in upstream.calls] == ["judge-1"] * 4


def test_recorded_claims_are_rated_by_the_model_of_the_route(upstream: Upstream, tmp_path: Path) -> None:
    """`--judge llm` measures as the route does: with `claims: stated` it asks the model that answers; a row that has the ratings asks nobody."""
    config = tmp_path / "config.yaml"
    config.write_text(JUDGED.format(url=upstream.url).replace("model: judge-1", "claims: stated"), encoding="utf-8")
    row = {"question": "Who built it?", "answer": SURE, "samples": ["It stands in Brussels.", "In Paris."]}
    upstream.enqueue(says(found("e", sentences=[1])))
    (asked,) = json.loads(measured("claims", row, config).stdout)["claims"]
    rated = row | {"claims": [SURE], "stated": [0.8]}
    (recorded,) = json.loads(measured("claims", rated, config).stdout)["claims"]
    assert recorded == asked
    assert (asked["by"], len(upstream.calls)) == ("stated", 1)
    uneven = measured("claims", rated | {"stated": [0.8, 0.9]}, config)
    assert (uneven.exit_code, "one number for each of 'claims'" in uneven.stderr) == (2, True)


def test_drawing_of_long_answers_stops_at_seven(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """More would hardly change how far the claims are borne out; that no two answers are the same neither stops it earlier nor draws all ten."""
    upstream.default = ignores_n(*ANSWERS)
    address = serve(sampling={"n": 10, "stop_early": True}, upstream_settings={"honours_n": False})
    _, field = text_and_field(client_of(address).chat.completions.create(model="m", messages=ASK))
    assert (field["samples"], len(upstream.calls)) == (7, 7)
    upstream.calls.clear()
    address = serve(sampling={"n": 4, "stop_early": True}, upstream_settings={"honours_n": False})
    text_and_field(client_of(address).chat.completions.create(model="m", messages=ASK))
    assert len(upstream.calls) == 4


def test_answers_that_agree_throughout_stay_as_they_are(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(text())
    final, field = text_and_field(
        client_of(serve(rewriting=UNCALIBRATED)).chat.completions.create(model="m", messages=ASK)
    )
    assert (final, field["status"]) == (text(), "plain")
    assert {one["status"] for one in field["sentences"]} == {"plain"}


def test_headings_and_quotations_are_left_alone(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """What surrounds the doubtful sentence comes out byte for byte, but for a mark on an item, and so does the introduction of a list: it claims nothing by itself."""
    frame = (
        "# The Atomium\n\n{}\n\n> It has 9 spheres.\n\nThe spheres hold these rooms:\n\n- {} halls\n- a restaurant\n"
    )
    upstream.default = says(*(frame.format(answer, 3) for answer in ANSWERS))
    final, field = text_and_field(
        client_of(serve(rewriting=UNCALIBRATED)).chat.completions.create(model="m", messages=ASK)
    )
    assert final.startswith(f"# The Atomium\n\n{SURE} {AUTHOR} ")
    assert "\n\n> It has 9 spheres.\n\n" in final
    assert re.search(r":\n\n- 3 halls( \([a-z ]+\))?\n- a restaurant\n$", final)
    statuses = {final[one["start"] : one["end"]]: one["status"] for one in field["sentences"]}
    assert statuses["It has 9 spheres."] == "kept"
    assert "\n\nThe spheres hold these rooms:\n\n" in final


def test_a_route_can_word_every_answer_as_one(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    address = serve(rewriting={"by_sentence_from": 0})
    _, field = text_and_field(client_of(address).chat.completions.create(model="m", messages=ASK))
    assert "sentences" not in field
    assert field["signal"] == "semantic"


def test_a_stream_is_closed_by_what_its_sentences_are_worth(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`append` cannot reword: one closing sentence, at the mean of the sentences and not at the share of identical answers."""

    upstream.default = says(*ANSWERS)
    chunks = list(
        client_of(serve(stream="append", rewriting=UNCALIBRATED)).chat.completions.create(
            model="m", messages=ASK, stream=True, seed=1
        )
    )
    field = chunks[-1].model_extra["hedgerow"]
    assert field["signal"] == "consistency"
    assert field["confidence"] > 0.7
    assert field["rewrite"]["rewriter"] in ("closing", None)


@pytest.mark.parametrize("size", [100_000, 10_000_000])
def test_what_is_too_long_to_compare_passes_as_it_is(serve: Any, client_of: Any, upstream: Upstream, size: int) -> None:
    """Byte for byte, with its reason, however long: no step works on it."""
    answers = [f"{text(height=height)} " * (size // 100) for height in (102, 103)]
    upstream.default = says(*answers)
    address = serve(sampling={"n": 2, "min_n": 2})
    final, field = text_and_field(client_of(address).chat.completions.create(model="m", messages=ASK))
    assert final == answers[0]
    assert (field["status"], field["reason"]) == ("passed", "too_long")


def test_a_route_sets_how_long_is_too_long(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    address = serve(rewriting={"max_chars": len(text()) - 1})
    final, field = text_and_field(client_of(address).chat.completions.create(model="m", messages=ASK))
    assert (final, field["reason"]) == (text(), "too_long")


@pytest.mark.embedded
@EMBEDDED
def test_real_prose_of_the_embedded_model(serve: Any, client_of: Any) -> None:
    """What a real model writes, sentence by sentence: places in the final text, in order, each with a confidence of its own where it claims something."""
    settings = {"upstreams": {"scripted": {"provider": "embedded", "brief": False, "max_answer_tokens": 60}}}
    sampling = {"n": 3, "min_n": 2, "temperature": 0.5, "top_p": 0.5}
    address = serve(settings=settings, sampling=sampling, rewriting={"by_sentence_from": 1} | UNCALIBRATED)
    ask = [{"role": "user", "content": "What is photosynthesis? Explain in three sentences."}]
    final, field = text_and_field(client_of(address, timeout=240).chat.completions.create(model="m", messages=ask))
    assert field["signal"] == "consistency"
    places = [(one["start"], one["end"]) for one in field["sentences"]]
    assert places == sorted(places)
    assert all(final[start:end].strip() for start, end in places)
    assert all(0.0 < one["confidence"] < 1.0 for one in field["sentences"] if one["confidence"] is not None)
    in_sentences = any(one["status"] == "hedged" for one in field["sentences"])
    last = final.splitlines()[-1].lower()
    about = ("this answer", "these statements", "these details")
    as_a_note = field["status"] == "hedged" and any(words in last for words in about)
    assert (field["status"] == "hedged") == (in_sentences or as_a_note)
