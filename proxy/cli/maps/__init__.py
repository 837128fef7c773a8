"""Commands that fit, store and activate calibration maps."""
