"""Commands that learn calibration maps, store them and say which are active."""
