"""What operators see: log lines, metrics, traces, drift of fitted maps, figures over the audit."""
