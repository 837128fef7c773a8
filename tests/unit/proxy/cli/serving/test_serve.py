"""What `hedgerow serve` says when it cannot start."""

import re

from hedgerow.proxy.cli.serving.serve import _sentence
from hedgerow.proxy.errors import StoreError


def test_a_defect_is_one_sentence_with_its_place() -> None:
    """What no operator can mend names the file and the line, so that a report says where; what they can mend stays as it is."""
    try:
        raise RuntimeError("queue closed")
    except RuntimeError as error:
        sentence = _sentence(error)
    assert re.fullmatch(
        r"a defect kept the proxy from starting: RuntimeError: queue closed \(test_serve.py:\d+\); please report it",
        sentence,
    )
    assert _sentence(StoreError("audit.url is wrong")) == "audit.url is wrong"
