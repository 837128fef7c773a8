"""Monitoring for operators: log lines, metrics, traces, drift of fitted maps, figures from the audit."""
