"""What the claims of the documents are measured with: evidence, performance, fits of the shipped figures, recorded data."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"
"""Recorded answers and people's readings, beside the checkout."""
RECORDED = Path(__file__).parent / "data"
"""What was recorded for these measurements, inside the checkout."""
