"""The other end of `tacit serve`: a client for applications, in two tempers, and one for people's own devices.

    calls       what is asked and what is answered, once for both tempers
    sending     two thin ways to send it, and when to try again
    clients     `tacit.Client` and `tacit.AsyncClient`
    device      `tacit.DeviceClient`: chooses and adds noise where the person is
    count       how many reports it has made, kept before any of them leaves

Needs httpx: `pip install 'tacit[client]'`.
"""
