"""Models that are loaded once, on first use, by whichever thread needs them first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..errors import StepFailed
from ..outcomes import Reason

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value made by the first caller; other threads wait for it.

    A failure is raised, and the next caller tries again.

    Args:
        make: makes the value; called under a lock.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: tuple[T] | None = None

    def __call__(self) -> T:
        """The value."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = (self._make(),)
        return self._made[0]


def cross_encoder(name: str, needed: tuple[str, ...], step: str, reason: Reason) -> tuple[Any, dict[str, int]]:
    """A cross-encoder of sentence-transformers on the CPU, and the indices of its labels by name in lower case.

    Raises:
        StepFailed: with this step and reason, if the library, the model or a needed label is missing.
    """
    if find_spec("sentence_transformers") is None:
        raise StepFailed(step, reason, "sentence-transformers is not installed (extra `semantic`)")
    from sentence_transformers import CrossEncoder

    try:
        model = CrossEncoder(name, device="cpu")
    except (OSError, ValueError) as error:
        raise StepFailed(step, reason, f"{name}: {error}") from error
    labels = {str(label).casefold(): int(index) for index, label in model.config.id2label.items()}
    if missing := set(needed) - labels.keys():
        raise StepFailed(
            step, reason, f"{name} has no label called {' or '.join(sorted(missing))}, only {', '.join(sorted(labels))}"
        )
    return model, labels


def package_file(package: str, name: str, step: str, reason: Reason) -> Path:
    """A data file of an installed package, without importing the package.

    Raises:
        StepFailed: with this step and reason, where the package is not installed.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise StepFailed(step, reason, f"the package {package} is not installed (extra `semantic`)")
    return Path(spec.origin).parent / name
