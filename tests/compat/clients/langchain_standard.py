"""langchain-tests: LangChain's own standard tests of a chat model, with langchain-openai by chat and by Responses."""

import json
import os
import sys

import pytest
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests


class TestChat(ChatModelIntegrationTests):
    """By chat."""

    @property
    def chat_model_class(self):
        return ChatOpenAI

    @property
    def chat_model_params(self):
        return {"model": "m", "max_retries": 0, "stream_usage": True}

    supports_json_mode = True


class TestResponses(TestChat):
    """By Responses."""

    @property
    def chat_model_params(self):
        return {"model": "m", "max_retries": 0, "use_responses_api": True}


class Outcomes:
    """What became of each test."""

    def __init__(self):
        self.by_outcome = {}

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            name = report.nodeid.partition("::")[2]
            self.by_outcome.setdefault(report.outcome, []).append(name)
            if report.failed and os.environ.get("WHY"):
                print(report.longreprtext[-1500:], file=sys.stderr)


if __name__ == "__main__":
    seen = Outcomes()
    alone = ["-c", os.devnull, "--rootdir", ".", "--noconftest", "-p", "no:cacheprovider", "-p", "no:terminal"]
    loop = ["-o", "asyncio_mode=auto", "-o", "asyncio_default_test_loop_scope=session"]
    pytest.main([__file__, *alone, *loop], plugins=[seen])
    print(json.dumps({"standard tests": seen.by_outcome}))
