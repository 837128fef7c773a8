"""What the requests of each route go through: from its settings to `RoutePipeline`.

Imported only where a route calibrates. Lexicon files are read here, so that a wrong name is reported at the start and not by a request.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf

from hedgerow.calibration.decision import Action, Costs, decide, thresholds
from hedgerow.lexicon import EmbeddingReader, Hedge, LexiconError, ModelReader, Reader, Retriever, load, offered
from hedgerow.proxy.clustering.clusterer import JudgedClusterer, PairJudge, RuleClusterer
from hedgerow.proxy.clustering.embeddings import OnnxEncoder, TorchEncoder
from hedgerow.proxy.clustering.llm import LlmJudge
from hedgerow.proxy.clustering.nli import NliJudge
from hedgerow.proxy.clustering.prior import EmbeddingPrior
from hedgerow.proxy.clustering.support import SentenceSupport
from hedgerow.proxy.config import ReaderModel, Route, Settings
from hedgerow.proxy.errors import ConfigError, ProxyError, StepFailed
from hedgerow.proxy.grading.online import RouteGrader
from hedgerow.proxy.pipeline.job import Job
from hedgerow.proxy.pipeline.sampling.cache import MemoryCache, RedisCache
from hedgerow.proxy.pipeline.sampling.sharing import Sharing
from hedgerow.proxy.pipeline.steps import LONG_SIGNAL, LongAnswerPipeline, RoutePipeline, Spent
from hedgerow.proxy.protocols import Asker, Call, Clusterer, ConfidenceSignal, Rewriter, Upstream
from hedgerow.proxy.rewriting import (
    Ask,
    DirectBetaRewriter,
    EditorRewriter,
    FactGuard,
    HedgedQaRewriter,
    TemplateRewriter,
)
from hedgerow.proxy.rewriting.entailment import CrossEncoderEntailment
from hedgerow.proxy.services.active_map import ActiveMaps
from hedgerow.proxy.signals.combine import CombinedSignal, weights_of
from hedgerow.proxy.signals.consistency import ConsistencySignal
from hedgerow.proxy.signals.linguistic import LinguisticSignal
from hedgerow.proxy.signals.p_true import OPTIONS, PTrueSignal
from hedgerow.proxy.signals.semantic import SemanticSignal
from hedgerow.proxy.signals.token import TokenSignal
from hedgerow.proxy.types import Json, Usage
from hedgerow.proxy.upstreams.answers import sample_of, usage_of

READING_TOKENS = 20
"""Tokens in which a model says how sure an answer sounds: a number, and a few words around it."""


def route_pipelines(
    settings: Settings, upstreams: Mapping[str, Upstream], maps: ActiveMaps
) -> dict[str, RoutePipeline]:
    """The pipelines of all routes that may calibrate."""
    return {route.name: _route_steps(route, upstreams, maps) for route in settings.routes if route.calibrates}


def _route_steps(route: Route, upstreams: Mapping[str, Upstream], maps: ActiveMaps) -> RoutePipeline:

    try:
        lexicon, how = load(route.lexicon), route.rewriting
        written = offered(lexicon, boosters=how.boosters, registers=how.registers, never=how.never)
    except LexiconError as error:
        raise ConfigError(f"routes: {route.name}: lexicon: {error}") from error
    if lexicon.language != "en":
        raise ConfigError(
            f"routes: {route.name}: lexicon: {route.lexicon} is in {lexicon.language!r}, but a route's lexicon words English answers; "
            "answers in German, French and Spanish take the shipped lexicons, those in other languages are left as they are"
        )
    hedges = tuple(lexicon)
    retriever = Retriever(written, shortlist=how.shortlist)
    guard = _guard(route, hedges)
    judge = _local_judge(route)
    support = SentenceSupport()
    return RoutePipeline(
        upstream=upstreams[route.upstream],
        equivalence=_equivalence(route, upstreams, judge),
        signal=_signal(route, upstreams, support, maps),
        active_map=lambda model: maps.active(route, model, route.signal),
        decide=_decide(route),
        stronger=upstreams[route.policy.escalate_to] if route.policy and route.policy.escalate_to else None,
        retriever=retriever,
        rewriters=_rewriters(route, upstreams),
        sharing=_sharing(route),
        guard=guard,
        by_sentence=_by_sentence(route, maps, support, retriever, guard),
        grader=_grader(route, upstreams),
        needs_logprobs=route.signal in ("token", "combined"),
    )


def _guard(route: Route, hedges: tuple[Hedge, ...]) -> FactGuard:
    """What stands between a rewrite and the client."""
    tolerance, asked = route.rewriting.tolerance, route.rewriting.entailment
    if asked is None:
        return FactGuard(hedges, tolerance=tolerance)
    return FactGuard(
        hedges, tolerance=tolerance, entailment=CrossEncoderEntailment(asked.model), entailed=asked.threshold
    )


def _by_sentence(
    route: Route, maps: ActiveMaps, support: SentenceSupport, retriever: Retriever, guard: FactGuard
) -> LongAnswerPipeline | None:
    """What the route's long answers go through; None where they are worded as one."""
    rewriting = route.rewriting
    if rewriting.by_sentence_from == 0 or rewriting.rewriter in ("direct_beta", "hedged_qa"):
        return None
    if route.sampling.probe == "short":  # answers in a few words say nothing of most sentences
        return None
    return LongAnswerPipeline(
        minimum=rewriting.by_sentence_from,
        support=support,
        active_map=lambda model: maps.active(route, model, LONG_SIGNAL),
        retriever=retriever,
        k=rewriting.k,
        template=TemplateRewriter(guard.hedges),
        guard=guard,
    )


def _sharing(route: Route) -> Sharing:
    """Equal requests draw once; a cache where the route has one.

    Raises:
        ConfigError: Redis is configured, and its library is missing or the address is none.
    """
    settings = route.sampling.cache
    if settings is None:
        return Sharing()
    if settings.store == "redis":
        return Sharing(RedisCache(settings.url or "", settings.ttl_s))
    return Sharing(MemoryCache(settings.ttl_s, settings.max_entries))


def _equivalence(
    route: Route, upstreams: Mapping[str, Upstream], local: PairJudge | None
) -> Callable[[Job, Spent], Clusterer]:
    """What decides which answers mean the same. Models of a judge load on first use, and once for all requests."""
    judge = route.judge
    fixed: Clusterer
    match route.equivalence:
        case "rules":
            fixed = RuleClusterer()
        case "embeddings" | "nli":
            assert local is not None  # both have one  # noqa: S101
            fixed = JudgedClusterer(local, strict=judge.strict)
        case "llm":
            upstream = upstreams[judge.upstream or route.upstream]

            def asking(job: Job, spent: Spent) -> Clusterer:
                async def ask(prompt: str) -> str:
                    body: Json = {"model": judge.model or job.model, "temperature": 0.0}
                    answer = await _complete(
                        job, upstream, body, prompt, spent, step="cluster", reason="judge_unreachable"
                    )
                    return sample_of(answer["choices"][0]).text

                return JudgedClusterer(LlmJudge(ask), strict=judge.strict)

            return asking
    return lambda _job, _spent: fixed


def _local_judge(route: Route) -> PairJudge | None:
    """The judge of a route whose judge runs in this process."""
    judge = route.judge
    if route.equivalence == "embeddings":
        return EmbeddingPrior(OnnxEncoder() if judge.model is None else TorchEncoder(judge.model))
    return NliJudge(judge.model or "", budget_s=judge.budget_s) if route.equivalence == "nli" else None


def _signal(
    route: Route, upstreams: Mapping[str, Upstream], support: SentenceSupport, maps: ActiveMaps
) -> Callable[[Job, Spent], ConfidenceSignal]:
    """What measures the confidence."""
    if route.signal == "p_true":

        def asking(job: Job, spent: Spent) -> ConfidenceSignal:
            async def ask(prompt: str) -> Json:
                body: Json = {"model": job.model} | OPTIONS
                upstream = upstreams[route.upstream]
                return await _complete(job, upstream, body, prompt, spent, step="signal", reason="p_true_unreachable")

            return PTrueSignal(ask)

        return asking
    if route.signal == "linguistic" and route.linguistic.reader == "models":
        return lambda job, spent: LinguisticSignal(_model_reader(route, upstreams, job, spent))
    if route.signal == "combined":

        def weighed(job: Job, spent: Spent) -> ConfidenceSignal:
            active = maps.active(route, job.model, "combined")
            return CombinedSignal([SemanticSignal(), TokenSignal()], weights_of(active.fitted))

        return weighed
    fixed: dict[str, ConfidenceSignal] = {
        "semantic": SemanticSignal(),
        "token": TokenSignal(),
        "linguistic": LinguisticSignal(_embedding_reader() if route.linguistic.reader == "embeddings" else None),
        "consistency": ConsistencySignal(support),
    }
    return lambda _job, _spent: fixed[route.signal]


def _grader(route: Route, upstreams: Mapping[str, Upstream]) -> RouteGrader | None:
    """What judges a share of the answers; None where none is judged."""
    grading = route.grading
    if not grading.share:
        return None
    upstream = upstreams[grading.upstream or route.upstream]

    async def ask(job: Asker, prompt: str) -> str:
        body: Json = {"model": grading.model or job.model, "temperature": 0.0}
        answer = await _complete(job, upstream, body, prompt, lambda _: None, step="grade", reason="grader_unreachable")
        return sample_of(answer["choices"][0]).text

    return RouteGrader(
        ask,
        model=grading.model,
        share=grading.share,
        max_pending=grading.max_pending,
        calls=grading.calls,
        rng=random.Random(),
    )


def _embedding_reader() -> Reader:
    """The reader by sentence embeddings; its model is loaded by the first text."""
    return EmbeddingReader(OnnxEncoder(step="signal"))


def _model_reader(route: Route, upstreams: Mapping[str, Upstream], job: Job, spent: Spent) -> Reader:
    """The language models that say how sure an answer sounds."""

    def asking(one: ReaderModel) -> Callable[[str], Awaitable[str]]:
        async def ask(prompt: str) -> str:
            body: Json = {"model": one.model or job.model, "temperature": 1.0, "max_tokens": READING_TOKENS}
            reason = "reader_unreachable"
            answer = await _complete(job, upstreams[one.upstream], body, prompt, spent, step="signal", reason=reason)
            return sample_of(answer["choices"][0]).text

        return ask

    models = route.linguistic.models or (ReaderModel(upstream=route.upstream),)
    return ModelReader([asking(one) for one in models], route.linguistic.passes)


async def _complete(
    job: Asker, upstream: Upstream, body: Json, prompt: str, spent: Spent, *, step: str, reason: str
) -> Json:
    """Put one prompt to a model on behalf of a job; its tokens go to `spent`.

    Raises:
        StepFailed: it cannot be asked; with the step and reason given.
    """
    call = Call("/chat/completions", body | {"messages": [{"role": "user", "content": prompt}]}, job.headers)
    try:
        answer = await upstream.complete(call)
    except ProxyError as error:
        raise StepFailed(step, reason, error.code) from error
    spent(usage_of(answer))
    return answer


def _decide(route: Route) -> Callable[[float], Action]:
    """What the route does at a calibrated mean; without a policy, always hedge."""
    if (policy := route.policy) is None:
        return lambda _: "hedge"
    found = thresholds(
        Costs(
            wrong=policy.wrong,
            needless_abstention=policy.needless_abstention,
            escalation=policy.escalation if policy.escalate_to else inf,
            escalated_accuracy=policy.escalated_accuracy,
            hedged_wrong=policy.hedged_wrong,
            hedged_right=policy.hedged_right,
        )
    )
    return lambda mean: decide(mean, found)


def _rewriters(route: Route, upstreams: Mapping[str, Upstream]) -> Callable[[Job], Sequence[Rewriter]]:
    """The rewriters in the order they are tried; an editor falls back to the template."""
    template = TemplateRewriter(tuple(load(route.lexicon)))
    if route.rewriting.rewriter == "template":
        return lambda _: (template,)
    editors: dict[str, Callable[[Ask], Rewriter]] = {
        "llm": EditorRewriter,
        "direct_beta": DirectBetaRewriter,
        "hedged_qa": HedgedQaRewriter,
    }
    editor = editors[route.rewriting.rewriter]
    upstream = upstreams[route.rewriting.upstream or route.upstream]
    return lambda job: (editor(lambda system, user: _ask(job, upstream, system, user)), template)


async def _ask(job: Job, upstream: Upstream, system: str, user: str) -> tuple[str, Usage]:
    """Ask a model on behalf of a job.

    Raises:
        StepFailed: it cannot be asked, or answers with nothing.
    """
    rewriting = job.route.rewriting
    body = {
        "model": rewriting.model or job.model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        "temperature": rewriting.temperature,
    }
    try:
        answer = await upstream.complete(Call("/chat/completions", body, job.headers))
    except ProxyError as error:
        raise StepFailed("rewrite", "editor_failed", error.code) from error
    return sample_of(answer["choices"][0]).text, usage_of(answer)
