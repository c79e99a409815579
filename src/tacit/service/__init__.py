"""Decisions over HTTP: a learner behind a service that keeps its promise through crashes, restarts and retries.

`tacit serve` starts it. What is durable when, who may release and what a release counts:
docs/decisions/0024-service.md. Needs the extra `tacit[serve]`.
"""
