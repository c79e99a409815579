"""`make bench-serve`: the service against an endpoint of the same framework that answers a constant, in one run."""
