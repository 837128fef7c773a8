"""Time and memory: overhead of the proxy, the audit store, the dashboard, the mathematics."""
