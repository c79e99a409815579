"""Ways to publish sums with noise. Beside each kernel stands the proof of what it costs, in prose: `proof.md`."""
