"""Promises about served answers that hold with a stated probability: wishes in words, exact bounds, thresholds, certificates.

`wishes` reads what an operator wants, `bounds` says how large a share can still be, `learning` finds the thresholds that keep a wish, and
`certificate` is the value that is signed, stored and served by. Pure functions; no clock, no file, no database.
"""
