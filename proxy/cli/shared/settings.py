"""The configuration that a command works with, and its routes by name."""

from __future__ import annotations

from pathlib import Path

from ...config import Route, Settings, load_known
from ...errors import ConfigError
from ...monitoring.logs import log_beside_results
from .messages import stop


def configuration(path: Path) -> Settings:
    """The settings in a file; where they cannot be used, one line a fault, and the end. A variable of the environment that is not set is an error
    only where its value is used. From here on what happens is logged beside the command's results, not among them.
    """
    log_beside_results()
    try:
        return load_known(path)[0]
    except ConfigError as error:
        stop(str(error))


def calibrating_route(settings: Settings, name: str | None) -> Route:
    """The named route, or the first that calibrates."""
    if name is not None:
        return named_route(settings, name)
    route = next((route for route in settings.routes if route.calibrates), None)
    if route is None:
        stop("no route calibrates; name one with --route")
    return route


def named_route(settings: Settings, name: str) -> Route:
    """The route of this name; where there is none, one sentence, and the end."""
    routes = {route.name: route for route in settings.routes}
    if name not in routes:
        stop(f"no route is called {name!r}; the routes are {', '.join(routes)}")
    return routes[name]
