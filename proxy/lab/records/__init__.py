"""Labelled answers from JSONL files, turned into the columns that calibration works on.

`reading` parses rows, `exact` holds the plain clustering and the gold match, `measuring` runs clusters and signal over rows.
"""

from hedgerow.proxy.lab.records.measuring import Records, measure
from hedgerow.proxy.lab.records.reading import BadRow, Measured, Sampled, read_rows

__all__ = ["BadRow", "Measured", "Records", "Sampled", "measure", "read_rows"]
