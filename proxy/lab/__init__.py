"""Offline work on labelled answers: data sets, collecting, measuring, fitting, reports."""
