"""One context for all arms as the actions that a policy with a shared parameter is shown."""

from __future__ import annotations

from tacit._kernel import kernel
from tacit._types import Floats
from tacit.core.slate import Slate


@kernel
def lay_out(context: Floats, slate: Slate) -> None:
    """Action k is the context in block k, as of `features.per_arm`. The rest of a column is never written: it is
    zero from the start."""
    columns, size = slate.columns, context.shape[0]
    for k in range(columns.shape[1]):
        for i in range(size):
            columns[k * size + i, k] = context[i]
