"""What a serving process holds: upstreams, store, the pipeline of each route, and the work that runs beside the requests."""
