"""The privacy card: what a privacy officer reads before a policy goes live.

record   the facts of a card, and their JSON
words    the sentences that follow from a guarantee
text     the card as plain text
reading  a card out of its JSON, checked against itself
schema   the JSON Schema of a card
"""

from tacit.privacy.card.record import DELTAS, FALSE_ALARM, SCHEMA, Card
from tacit.privacy.card.schema import card_schema

__all__ = ["DELTAS", "FALSE_ALARM", "SCHEMA", "Card", "card_schema"]
