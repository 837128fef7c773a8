"""Commands that set a proxy up, run it, and steer it while it runs."""
