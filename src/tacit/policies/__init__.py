"""One file per policy: configuration, plan, verbs. `catalogue` lists them."""
