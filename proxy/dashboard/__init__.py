"""The web pages: the page to try the proxy, and the dashboard.

Server-rendered templates, one stylesheet, one script, a vendored chart library; no requests to other hosts. Pages read the audit through
`hedgerow.proxy.audit.queries` and never compute on the event loop.
"""
