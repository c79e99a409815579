"""What the service is measured by: the same framework, the same bodies decoded, a constant answered, nothing stored."""

from __future__ import annotations

import sys

import uvicorn
from litestar import Litestar, post, put
from litestar.params import FromPath, JSONBody

from tacit.service.api.types import Ask, Decision, Reward, Rewarded

_DECISION = Decision("0" * 32, "action-7", 7, 1)
_REWARDED = Rewarded("0" * 32, "reward")


@post("/v1/deployments/{name:str}/decisions")
async def decide(name: FromPath[str], data: JSONBody[Ask]) -> Decision:
    """A constant."""
    return _DECISION


@put("/v1/deployments/{name:str}/decisions/{identity:str}/reward")
async def reward(name: FromPath[str], identity: FromPath[str], data: JSONBody[Reward]) -> Rewarded:
    """A constant."""
    return _REWARDED


if __name__ == "__main__":
    uvicorn.run(
        Litestar([decide, reward], openapi_config=None),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        access_log=False,
        log_level="warning",
    )
