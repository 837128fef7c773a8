"""The steps that calibrate one request."""
