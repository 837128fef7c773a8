"""`hedgerow collect`: put a file of questions through a route's upstream and keep the answers."""

from __future__ import annotations
