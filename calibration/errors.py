"""What the mathematics refuses.

CalibrationError(ValueError)
  ShapeError       arrays do not fit together
  RangeError       a value lies outside what the definition allows
  NotEnoughData    a fit or an estimate was asked of too little data
  NegativeSlope    a fit would turn the order of confidence round
  MapFileError     a stored map cannot be read, or must not be overwritten
"""


class CalibrationError(ValueError):
    """Base class of the errors that the mathematics raises."""


class ShapeError(CalibrationError):
    """Arrays do not fit together; the message names them and their shapes."""


class RangeError(CalibrationError):
    """A value lies outside its range; the message names argument, value and limit."""


class NotEnoughData(CalibrationError):
    """Too little data, or data of one class only; the message says how much is needed."""


class NegativeSlope(CalibrationError):
    """Wrong answers are more confident than right ones; the message gives the slope."""


class MapFileError(CalibrationError):
    """A stored map cannot be read or must not be overwritten; the message names the file."""
