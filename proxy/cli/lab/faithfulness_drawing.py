"""`hedgerow faithfulness --draw`: put questions to a model under the paper's four prompts and keep the answers."""

from __future__ import annotations
