"""What a person sees in a browser: the page to try the proxy on, and the dashboard.

Server-rendered templates, one stylesheet, one script, a vendored chart library; nothing is asked of another host. Pages read the audit
through `hedgerow.proxy.audit.queries` and never compute on the event loop.
"""
