"""Ways to publish a running sum, and what each costs.

    counter    what every counter is: the verbs `due`, `add`, `publish`, and the lattice of secure noise
    exact      the sums as they are
    tree       after every row, from nodes noised once
    toeplitz   after every row or at the end of each segment, under correlated noise
    window     the last few segments, each noised once
    segments   a few times, every draw remembered
    wishart    after every row, under Wishart masks, as published
    batches    of reports that a shuffler has mixed

`publish` is the last function that sees an exact sum: what follows it is post-processing, by signature. Each file has
its kernels in double precision and, where there are any, on a lattice; its proof has the same name and ends in `.md`.
"""
