"""The exponential mechanism: one candidate, drawn by its score. What a draw costs, and why: `proof.md`.

    rate       how steeply odds may follow scores
    candidates a draw from a finite set, exact and in constant time
    rejection  a draw from a box, exact, given a certified bound of the score
    uniforms   the randomness of both

McSherry and Talwar (2007). The event of a draw is `privacy.ExponentialEvent`; spend it before the draw.
"""

from tacit.mechanisms.exponential.candidates import draw_candidate, probabilities
from tacit.mechanisms.exponential.rate import diameter, published_rate, range_rate, with_rounding
from tacit.mechanisms.exponential.rejection import Accepted, draw_by_rejection

__all__ = [
    "Accepted",
    "diameter",
    "draw_by_rejection",
    "draw_candidate",
    "probabilities",
    "published_rate",
    "range_rate",
    "with_rounding",
]
