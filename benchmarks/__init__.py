"""How fast, how small.

`python -m benchmarks [rounds|one_step|online|device|compile_times|memory|large|agreement] [--quick]`.

Machines differ and neighbours are noisy, so speed is a ratio of two things measured in turn within one run.
"""
