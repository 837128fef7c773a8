"""Offline work on labelled answers: data sets, collecting, measuring, fitting, experiments, reports."""
