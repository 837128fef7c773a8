"""Makes the `RoutePipeline` of each route from its settings.

Imported only if a route calibrates. Lexicon files are read here, so that a wrong name is reported at the start and not by a request.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from math import inf

from ...calibration.decision import Action, Costs, decide, thresholds
from ...lexicon import Hedge, LexiconError, load
from ...lexicon.text.language import known
from ..clustering import asked_support, stated_support
from ..clustering.local import missing
from ..clustering.support import SentenceSupport
from ..config import EmbeddedUpstream, Route, Settings
from ..config.kinds import JUDGES, SIGNALS
from ..errors import ConfigError
from ..grading.online import RouteGrader
from ..outcomes import Reason
from ..pipeline.placing import Placer
from ..pipeline.sampling.cache import MemoryCache, RedisCache
from ..pipeline.sampling.sharing import Sharing
from ..pipeline.steps import LongAnswerPipeline, RoutePipeline, RouteWording
from ..protocols import Asker, Supporter, Upstream
from ..rewriting import Choice, FactGuard, LocalRewriter, Reader, reader_of
from ..rewriting.editor import RouteEditor
from ..rewriting.editor_check import Checking, check
from ..rewriting.entailment import CrossEncoderEntailment, LocalEntailment
from ..rewriting.policy import LOW
from ..rewriting.wordings import SPEAKERS
from ..spending.prices import Prices, open_prices
from ..supervision import Checked
from ..types import CLAIM_SIGNAL
from ..upstreams.asking import Prompting, RouteContext, SupporterFactory
from ..upstreams.readiness import Readiness
from .active_map import ActiveMaps
from .services import singles


def route_pipelines(
    settings: Settings,
    upstreams: Mapping[str, Upstream],
    maps: ActiveMaps,
    editors: Readiness,
    checked: Checked = lambda _check, _why: None,
) -> dict[str, RoutePipeline]:
    """The pipelines of all routes that may calibrate; `editors` remembers which models edit as asked, `checked` is told of checks
    without which answers pass.

    Raises:
        ConfigError: something that a route names is missing or cannot be used.
    """
    calibrating, placer = [route for route in settings.routes if route.calibrates], Placer()
    prices = open_prices(settings.prices)
    only = only_models(settings)
    contexts = (
        RouteContext(
            r,
            upstreams,
            partial(maps.active, r),
            partial(maps.standing, r),
            editors,
            only,
            settings.hides_keys(r.upstream),
            checked,
        )
        for r in calibrating
    )
    return {context.route.name: route_pipeline(context, placer, prices) for context in contexts}


def only_models(settings: Settings) -> dict[str, str]:
    """By upstream that has one model alone, whatever is asked for, the model's name."""
    return {name: each.model_name for name, each in settings.upstreams.items() if isinstance(each, EmbeddedUpstream)}


def route_pipeline(context: RouteContext, placer: Placer, prices: Prices) -> RoutePipeline:
    """The pipeline of one route.

    Raises:
        ConfigError: something that the route names is missing or cannot be used.
    """
    route, wording = context.route, route_wording(context)
    signal = SIGNALS[route.signal]
    return RoutePipeline(
        **{field.name: getattr(wording, field.name) for field in fields(wording)},
        upstream=context.upstream(),
        equivalence=JUDGES[route.equivalence].load()(context),
        signal=signal.load()(context),
        active_map=lambda model: context.active_map(model, route.signal),
        field_map=lambda model: context.active_map(model, "semantic"),
        sharing=_sharing(context),
        grader=_grader(context),
        needs_logprobs=signal.needs_logprobs,
        placer=placer,
        prices=prices,
    )


def route_wording(context: RouteContext) -> RouteWording:
    """The parts that word a route's answers; they call no upstream except an editor's or the stronger model's.

    Raises:
        ConfigError: the lexicon is missing or cannot be used.
    """
    route = context.route
    _check_judge(route)
    try:
        lexicon, how = load(route.lexicon), route.rewriting
        retriever = Choice.of(lexicon, how.voice)
    except LexiconError as error:
        raise ConfigError(f"routes: {route.name}: lexicon: {error}") from error
    if lexicon.language != "en":
        raise ConfigError(
            f"routes: {route.name}: lexicon: {route.lexicon} is in {lexicon.language!r}, but a route's lexicon words English answers; "
            "answers in German, French and Spanish take the shipped lexicons, those in other languages are left as they are"
        )
    if missing := set(how.languages) - known():
        raise ConfigError(
            f"routes: {route.name}: rewriting.languages: there are no hedges in {', '.join(sorted(missing))}"
        )
    reader = reader_of(lexicon)
    guard = _guard(route, tuple(lexicon), reader)
    return RouteWording(
        decide=_decide(route),
        standing=context.standing,
        stronger=context.upstream(route.policy.escalate_to) if route.policy and route.policy.escalate_to else None,
        retriever=retriever,
        local=LocalRewriter(retriever.hedges, SPEAKERS[how.voice], reader),
        guard=guard,
        entails=guard.entails if guard.entailment else None,
        by_sentence=_by_sentence(context),
        reader=reader,
        editor=editor_of(context),
    )


def _check_judge(route: Route) -> None:
    """Raise `ConfigError` if the route uses the shipped judge and it cannot run here."""
    entailment, lacking = route.rewriting.entailment, missing()
    if entailment is not None and entailment.model == "local" and lacking is not None:
        raise ConfigError(f"routes: {route.name}: rewriting.entailment: local: {lacking}")


def _guard(route: Route, hedges: tuple[Hedge, ...], reader: Reader) -> FactGuard:
    """The guard that checks rewrites."""
    tolerance, asked = route.rewriting.tolerance, route.rewriting.entailment
    if asked is None:
        return FactGuard(hedges, tolerance=tolerance, reader=reader)
    entailment = LocalEntailment() if asked.model == "local" else CrossEncoderEntailment(asked.model)
    return FactGuard(hedges, tolerance=tolerance, reader=reader, entailment=entailment, entailed=asked.threshold)


def _by_sentence(context: RouteContext) -> LongAnswerPipeline | None:
    """The parts for the route's long answers; None if they are worded like short ones."""
    route, rewriting = context.route, context.route.rewriting
    if rewriting.by_sentence_from == 0:
        return None
    if route.sampling.probe == "short":  # short samples do not cover most sentences of a long answer
        return None
    return LongAnswerPipeline(
        minimum=rewriting.by_sentence_from,
        support=claims_support(context),
        active_map=lambda model: context.active_map(model, CLAIM_SIGNAL),
    )


def claims_support(context: RouteContext) -> SupporterFactory:
    """Makes what measures the claims of the route's long answers: a language model with words, or words alone."""
    judge = context.route.judge
    if judge.claims == "llm":
        return asked_support.build(context)
    if judge.claims == "stated":
        return stated_support.build(context)
    return always(SentenceSupport())


def always(supporter: Supporter) -> SupporterFactory:
    """A factory that returns the same part for all requests."""
    return lambda _asker, _spent: supporter


def _sharing(context: RouteContext) -> Sharing:
    """Sample sharing of a route, with its cache if it has one.

    Raises:
        ConfigError: Redis is configured, and its library is missing or the address is not valid.
    """
    settings = context.route.sampling.cache
    if settings is None:
        return Sharing(hides_keys=context.hides_keys)
    is_shared = settings.store == "redis"
    cache = (
        RedisCache(settings.url or "", settings.ttl_s, partial(context.checked, f"cache:{context.route.name}"))
        if is_shared
        else MemoryCache(settings.ttl_s, settings.max_entries)
    )
    return Sharing(cache, hides_keys=context.hides_keys)


def _grader(context: RouteContext) -> RouteGrader | None:
    """The grader of a share of the answers; None if the route grades none."""
    settings = context.route.grading
    if not settings.share:
        return None
    upstream = context.upstream(settings.upstream)
    prompting = Prompting(upstream, "grade", Reason.MODEL_UNREACHABLE, settings.model, {"temperature": 0.0})

    async def ask(asker: Asker, prompt: str) -> str:
        return await prompting.text(asker, lambda _: None)(prompt)

    return RouteGrader(
        ask,
        model=settings.model,
        share=settings.share,
        rng=random.Random(),
    )


def _decide(route: Route) -> Callable[[float], Action]:
    """The route's action at a calibrated mean; without a policy always to hedge."""
    if (policy := route.policy) is None:
        return lambda _: "hedge"
    at_low: Action = "hedge" if policy.low_confidence == "note" else policy.low_confidence
    if policy.needless_abstention is None:
        return lambda mean: at_low if mean <= LOW else "hedge"
    limits = thresholds(
        Costs(
            wrong=policy.wrong,
            needless_abstention=policy.needless_abstention,
            escalation=policy.escalation if policy.escalate_to else inf,
            escalated_accuracy=policy.escalated_accuracy,
            hedged_wrong=policy.hedged_wrong,
            hedged_right=policy.hedged_right,
        )
    )

    def action(mean: float) -> Action:
        by_cost = decide(mean, limits)
        return at_low if by_cost == "hedge" and mean <= LOW else by_cost

    return action


def editor_of(context: RouteContext) -> RouteEditor | None:
    """The route's editor; None if its answers are worded without one. The model in this process is asked only where the route names it: the shipped
    one cannot edit, and trying would hold up the first requests.
    """
    how = context.route.rewriting
    name = how.upstream or context.route.upstream
    is_wanted = how.by == "editor" or (how.by == "auto" and name not in context.only_models)
    if context.editors is None or not is_wanted:
        return None
    model = context.only_models.get(name, how.model)
    return RouteEditor(
        Prompting(context.upstream(name), "rewrite", Reason.EDITOR_FAILED, model, {}),
        name,
        context.editors,
        timeout_s=how.timeout_s,
        max_tokens=how.max_tokens,
        is_trusted=how.by == "editor",
    )


async def check_editors(settings: Settings, steps: Mapping[str, RoutePipeline]) -> None:
    """Try each model that is known and can be called without a client's key, once; the others are tried by the first answer that needs a mark."""
    for route in settings.routes:
        editor = steps[route.name].editor if route.name in steps else None
        if editor is None or editor.is_trusted:
            continue
        asker = Checking(editor.prompting.model or route.model or "")
        is_known = bool(asker.model) and has_key(settings, editor.upstream)
        if is_known and editor.readiness.state(editor.key(asker)) == "unknown":
            await check(editor, asker)


def has_key(settings: Settings, upstream: str) -> bool:
    """Whether an upstream is called with a key of its own; else the client's key passes through."""
    single = singles(settings.upstreams)
    return all(getattr(single[name], "api_key", None) is not None for name in settings.members(upstream))
