"""The page of `hedgerow faithfulness --report`: decisiveness by confidence, and all figures in total and by group."""

from __future__ import annotations

from ...types import Json
from ..faithfulness.figures import METRICS, group_name
from .page import environment


def render(document: Json) -> str:
    """The page for the output of `hedgerow faithfulness --json`."""
    names = [group_name(group) for group in document["groups"]]
    shown = [
        ("All answers" if names else "Decisiveness by confidence", document),
        *zip(names, document["groups"], strict=True),
    ]
    return environment().get_template("faithfulness.html").render(document=document, shown=shown, metrics=METRICS)
