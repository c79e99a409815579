"""The privacy card: what a privacy officer reads before a policy goes live.

record   the facts of a card, and their JSON
paths    ways of asking, and what each costs
words    the sentences that follow from a guarantee
text     the card as plain text
reading  a card out of its JSON, checked against itself
schema   the JSON Schema of a card
"""

from tacit.privacy.card.paths import SpendingPath
from tacit.privacy.card.record import DELTAS, SCHEMA, Card
from tacit.privacy.card.schema import card_schema
from tacit.privacy.card.words import FALSE_ALARM

__all__ = ["DELTAS", "FALSE_ALARM", "SCHEMA", "Card", "SpendingPath", "card_schema"]
