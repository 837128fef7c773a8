"""What breaks the proxy: faults of upstreams, abuse by clients, faults of the process and its store, counted. `make chaos`.

`faults` and `abuse` are tables, `rules` says what must come of each kind, `upstream` and `wire` are both ends of the wire byte by byte,
`serving` is the proxy's own process, `processes` and `memory` do to it what machines do, `report` writes docs/reliability.md.
"""
