"""tacit inside other people's loops: their method names, our guarantee.

    mabwiser  `TacitMAB`: fit, partial_fit, predict, predict_expectations
    obp       `TacitPolicy`: select_action, update_params

Neither library is imported: an adapter has the methods that their loops call.
"""

from tacit.adapters.mabwiser import TacitMAB
from tacit.adapters.obp import TacitPolicy

__all__ = ["TacitMAB", "TacitPolicy"]
