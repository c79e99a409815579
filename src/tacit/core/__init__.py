"""The four verbs, the round that joins them, the plan a policy makes, and the learner that lives by it."""
