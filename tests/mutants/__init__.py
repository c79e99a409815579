"""Slips in the code that privacy rests on, each with the tests that must notice it: `make mutants`."""
