"""`tacit shuffle`: the program between devices and a service, in hands of its own.

    mixing      one batch in memory, on its way to the server when it is full
    app         two addresses over HTTP: sealed reports in, and whether it is well
    running     a process of it

It cannot read what it mixes (`tacit.core.sealed_reports`), keeps nothing but the batch that is being filled, and writes
no log of who came. Run it where the operator of the service cannot look: the two together see everything. Needs
uvicorn and httpx: `pip install 'tacit[serve]'`.
"""
