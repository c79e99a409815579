"""A service that is none: the addresses of `tacit serve` over a `Server` in memory, which fails on demand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httpx

from tacit.core.messages import write
from tacit.core.policy import Policy
from tacit.core.sealed_reports import new_sealing_key, open_batch
from tacit.errors import BadMessage, RepeatedReport, StaleReport

NAME = "news"
URL = "http://service.test"


def error(status: int, code: str, message: str = "Expected something else.", **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "message": message, "field": None}}, headers=headers)


class Pretended:
    """Give `handle` to `httpx.MockTransport`. `asked` has every request that arrived."""

    def __init__(self, config: Policy | None = None) -> None:
        self.asked: list[httpx.Request] = []
        self.failures: list[Callable[[httpx.Request], httpx.Response | None]] = []
        self.server = None if config is None else config.server()
        self.config = config
        self.private, self.sealing_key = new_sealing_key()
        self.decisions: dict[str, dict[str, Any]] = {}
        self.rewards: dict[str, float] = {}
        self.batches: list[dict[str, Any]] = []

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.handle)

    # Failures -------------------------------------------------------------------------------------------------------

    def refuse(self, times: int, answer: httpx.Response) -> None:
        """Answer so, before anything is done."""
        self.failures += [lambda _: answer] * times

    def cut(self, times: int = 1) -> None:
        """The connection breaks before anything is done."""
        self.failures += [self._broken] * times

    def lose(self, times: int = 1) -> None:
        """Do what is asked, and lose the answer."""

        def lost(request: httpx.Request) -> httpx.Response | None:
            self.answer(request)
            return self._broken(request)

        self.failures += [lost] * times

    @staticmethod
    def _broken(request: httpx.Request) -> httpx.Response | None:
        raise httpx.ReadError("somebody pulled the plug", request=request)

    # Answers --------------------------------------------------------------------------------------------------------

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if self.failures:
            answer = self.failures.pop(0)(request)
            if answer is not None:
                return answer
        return self.answer(request)

    def answer(self, request: httpx.Request) -> httpx.Response:
        path, _, query = request.url.raw_path.decode().removeprefix("/v1/deployments").strip("/").partition("?")
        parts = [unquote(part) for part in path.split("/")]
        body = json.loads(request.content) if request.content else None
        match (request.method, *parts):
            case ("GET", ""):
                return httpx.Response(200, json={"deployments": [{"name": NAME}]})
            case ("POST", ""):
                return httpx.Response(201, json={"deployment": body})
            case ("GET", name) if name == NAME:
                return httpx.Response(200, json={"name": name})
            case ("GET", _, "card"):
                return httpx.Response(200, json={"card": {}})
            case ("GET", _, "ledger"):
                return httpx.Response(200, json={"asked": query})
            case ("POST", _, "pause" | "resume"):
                return httpx.Response(200, json={"state": parts[1]})
            case ("POST", _, "actions"):
                return httpx.Response(200, json={"action_ids": [body["id"]]})
            case ("DELETE", _):
                return httpx.Response(204)
            case ("POST", _, "persons", "erase"):
                return httpx.Response(200, json={"erased_decisions": 0})
            case ("POST", _, "decisions"):
                return httpx.Response(201, json=self.decide(body))
            case ("POST", _, "decisions", "batch"):
                return httpx.Response(201, json={"decisions": [self.decide(one) for one in body["decisions"]]})
            case ("PUT", _, "decisions", decision, "reward"):
                return self.reward(decision, body["value"])
            case ("PUT", _, "rewards"):
                found = [json.loads(self.reward(**one).content) for one in body["rewards"]]
                for one, asked in zip(found, body["rewards"], strict=True):
                    one["decision"] = asked["decision"]
                return httpx.Response(200, json={"rewards": found})
            case ("GET", name, "view") if name == NAME and self.server is not None:
                return self.view(request)
            case ("GET", name, "contract") if name == NAME and self.config is not None:
                return httpx.Response(200, json={"contract": self.config.contract(), "sealing_key": self.sealing_key})
            case ("POST", name, "reports") if name == NAME and self.server is not None:
                return self.learn(self.server.receive, body)
            case ("POST", name, "batches") if name == NAME and self.server is not None:
                return self.learn(self.batch, body)
        return error(404, "unknown_deployment", "Expected a deployment, got none of that name.")

    def decide(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("person") == "banned":
            return {"error": {"code": "bad_input", "message": "Expected somebody else.", "field": "person"}}
        number = len(self.decisions)
        actions = body.get("actions")
        last = "0" if actions is None else actions[-1]
        action = last if isinstance(last, str) else last["id"]
        index = 0 if actions is None else len(actions) - 1
        made = {"decision": f"{number:032x}", "action": action, "index": index, "view": 7}
        return self.decisions.setdefault(body["key"], made)

    def reward(self, decision: str, value: float) -> httpx.Response:
        if decision not in {made["decision"] for made in self.decisions.values()}:
            return error(404, "unknown_decision")
        if self.rewards.setdefault(decision, value) != value:
            return error(409, "rewarded")
        return httpx.Response(200, json={"decision": decision, "closed": "rewarded"})

    def view(self, request: httpx.Request) -> httpx.Response:
        assert self.server is not None
        tag = f'"{self.server.stage}"'
        if request.headers.get("if-none-match") == tag:
            return httpx.Response(304, headers={"ETag": tag})
        return httpx.Response(200, text=self.server.view_json(), headers={"ETag": tag})

    def batch(self, body: dict[str, Any]) -> None:
        assert self.config is not None
        assert self.server is not None
        self.batches.append(body)
        self.server.receive_batch(open_batch(self.config, write(body), self.private))

    def learn(self, take: Callable[[dict[str, Any]], None], body: dict[str, Any]) -> httpx.Response:
        assert self.server is not None
        try:
            take(body)
        except RepeatedReport as problem:
            return error(409, "repeated_report", str(problem))
        except StaleReport as problem:
            return error(409, "stale_report", str(problem))
        except BadMessage as problem:
            return error(400, "bad_message", str(problem))
        return httpx.Response(200, json={"stage": self.server.stage})
