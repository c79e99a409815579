"""tacit next to MABWiser, river, contextualbandits and Vowpal Wabbit, in an environment of its own: `make bench-peers`.

worlds       the same rounds for everybody, drawn beforehand
player       what a library must be able to do to take part
ours, with_* one file per library
measuring    turns are taken, times and regret are kept
page         the table, and what in it cannot be compared
install      the libraries, or why one could not be had
"""
