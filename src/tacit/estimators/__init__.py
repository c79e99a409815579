"""From (noised) sums to an estimate, its confidence set, and the arm it prefers."""
