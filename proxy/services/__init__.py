"""The parts of a serving process: upstreams, store, the pipeline of each route, and background work."""
