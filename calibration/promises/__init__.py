"""Promises about served answers that hold with a stated probability: wishes, exact bounds, thresholds, certificates.

`wishes` parses what an operator wants, `testing` bounds shares from above, `learning` finds the thresholds that keep
a wish, and `certificate` is the value that is signed, stored and used for serving. Pure functions; no clock, no file,
no database.
"""
