"""What the card of a function learner says."""

from __future__ import annotations

ASSUMPTIONS = (
    "Boxes, kernel, bounds, horizon, candidates and the distribution of contexts were chosen without looking at data.",
    "A record comes whatever is in it; a reward that never comes is learned as the middle of its interval.",
    "The unit is the round: somebody with several rounds has several times the exposure.",
)
OWN_CONTEXT = "The answer to a query may depend on the query's own context."
HEURISTIC_TAU = "tau = 100·B/epsilon is a heuristic: it costs no privacy, and no theorem asks for it."
TUNED_TAU = "tau was tuned on public synthetic functions, which costs no privacy."
ONCE = "One function release spends all of it; what is released may be asked about any number of contexts."
FUNCTION = "A function first (release_function), all at once or in parts, and whatever the ledger takes after it"
DRAWS = "Draws alone (predict_once), whose epsilon add up to {epsilon:g} at most"
MIXED = "In any other way that the ledger takes: many small draws, a function after draws"
MANY_DRAWS = "In any other way that the ledger takes: many small draws"
LEDGER = "a ledger: Feldman and Zrnic (2021), Smith and Thakurta (2022)"
PUBLISHED = (
    "As published one epsilon buys one prediction; its sensitivity holds for every horizon, with the certified "
    "supremum of sigma squared, which keeps the factor 1/tau."
)
CONTINUOUS = "Drawing from a continuous box takes a time that depends on the data: that is not covered."
