"""`hedgerow certify report`: how a route's promises held, as one page to hand over."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ...audit.maps import StoredCertificates
from ...audit.operators import states
from ...audit.store import hash_key
from ...lab.promises_report import document, page
from ...outcomes import Uncovered
from ...services.active_map import stored_maps
from ...services.reload import effective
from ..shared.files import write_page
from ..shared.messages import one_sentence, say, stop
from ..shared.options import CONFIG, ConfigPath
from ..shared.settings import calibrating_route
from ..shared.store import open_audit


def report(
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")],
    route: Annotated[str | None, typer.Option(help="The route. Default: the only one with promises.")] = None,
    certificate: Annotated[str | None, typer.Option(help="The certificate. Default: the one in force.")] = None,
    config: ConfigPath = CONFIG,
) -> None:
    """Write a sealed page for an auditor: promises, data, start, and whether the promises held."""
    with one_sentence(), open_audit(config) as (settings, engine):
        running, key = effective(settings, states(engine)), hash_key(settings.audit)
        promising = [each.name for each in running.routes if each.promises is not None]
        chosen = calibrating_route(running, route or (promising[0] if len(promising) == 1 else None))
        if certificate is not None:
            issued, why = StoredCertificates(engine, key).get(certificate), f"no certificate is called {certificate}"
        else:
            standing = stored_maps(running, engine).standing_of(chosen)
            if standing is None:
                stop(f"route {chosen.name} promises nothing; give it `promises:`, or name a --certificate")
            issued = standing.certificate or standing.withdrawn
            why = Uncovered(standing.reason).sentence if standing.reason else ""
        if issued is None:
            stop(f"{why.rstrip('.')}; hedgerow certify list lists what is stored")
        content = document(engine, chosen, issued, key, datetime.now(UTC))
    write_page(out, page(content))
    for promise in content["promises"]:
        say(promise["line"])
    say("signed" if key else "not signed: audit.hash_key is not set")
