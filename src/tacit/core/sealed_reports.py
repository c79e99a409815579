"""Reports that the shuffler mixes and cannot read: sealed by devices to the server's key.

A shuffler has to be trusted with *who sent what*; a plain one sees what was sent as well. Here it does not. A device
seals its report to the public key of the server (`hpke`), under the contract and the stage: a sealed report opens for
no other contract, in no other batch, with no other key.

*Reports that are noised each by itself* ("xy", "gram") are sealed as they are. The shuffler sees n texts of one length
and passes them on in an order drawn from the operating system; the server opens the n. It sees what a plain batch would
have shown it.

*Counts* may reach the server as totals only, so they are masked instead. With M = 2⁵², a device draws a seed s of 32
bytes, expands it to one number below M per coordinate, the mask m(s), and sends

    masked = counts + m(s) mod M      in the clear, to the shuffler
    s                                 sealed to the server

The shuffler adds the masked vectors up modulo M as they come, and passes on the sum and the sealed seeds, in an order
drawn from the operating system. The server opens the seeds and takes all masks off:

    Σ masked − Σ m(s) = Σ counts      mod M, and exactly, since the totals stay below M (checked with the contract)

*What the shuffler sees.* m(s) is SHAKE256 of a seed that nobody but device and server knows. To whoever cannot tell
SHAKE256 from a random function or break HPKE it is uniform and independent of everything, so every masked vector is
uniform whatever the counts are: it could as well be drawn with dice. What is left to see is that a report came, when,
from where, and under which stage: what the shuffler is trusted with.

*What the server sees.* Let c_i be the counts, and m_i the masks. Given all seeds, the sum of the masked vectors and the
totals Σ c_i determine each other; and the seeds were drawn without looking at anything. So what reaches the server is a
function of the totals and of coins of its own: it can be made from a plain batch by drawing seeds, adding their masks
and sealing them. Nothing less noised than a plain batch leaves, and its price holds as it stands.

*What this does not do.* Shuffler and server together see every report: run them in different hands. The shuffler cannot
check what it cannot read, so a device that lies can spoil its batch, by a seed that does not open (the batch is
refused) or by counts of any size (a total is still refused beyond what the whole batch could reach). And a shuffler
that acts against the protocol, mixing one person with reports of its own making, learns that person's totals from
the next view as everybody does: sealing keeps out who reads, not who forges.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit._validate import whole
from tacit.core import hpke
from tacit.core.contract import MOST_IN_BATCH, Contract, contract_of
from tacit.core.messages import VERSION, as_array, as_identity, as_stage, limit_of, opened
from tacit.core.policy import Policy
from tacit.core.shuffler import Shuffler
from tacit.errors import BadInput, BadMessage, RepeatedReport, VaultSealed

#: Masked numbers are below it. Two of them add up below 2⁵³: languages with doubles only can add them exactly.
MODULUS = 2**52
#: Bytes of a seed.
SEED = 32
#: What the sealed text says it is for, whatever else the key may be used for one day.
_INFO = b"tacit sealed report 1"
_MASK = b"tacit mask 1"
#: A sealed seed is 108 characters long, with its quotes less than two numbers may have.
_NUMBERS_PER_SEED = 2

_KEY = re.compile(r"[0-9a-f]{64}")


class SealedReport(NamedTuple):
    """A sealed report as the shuffler has checked it."""

    identity: bytes
    stage: int
    masked: list[int] | None
    sealed: str


def new_sealing_key() -> tuple[bytes, str]:
    """A fresh key pair of a server: the private key as 32 bytes, and the public one as devices get it, in hexadecimal.

    Keep the private key from the shuffler, and install the public one with the device, or fetch it from the server
    itself. *One key for everybody:* a server that gave every device a key of its own could tell their reports apart by
    which key opens them.
    """
    private = hpke.new_private()
    return private, hpke.public_of(private).hex()


def public_key_of(private: bytes) -> str:
    """The public key, in hexadecimal, of a private one."""
    return hpke.public_of(_private(private)).hex()


def check_sealing_key(public: object) -> str:
    """The public key, if it is one."""
    if not isinstance(public, str) or not _KEY.fullmatch(public):
        raise BadInput(
            "Expected the sealing key of the server as 64 hexadecimal digits in lower case, got something else. The "
            "server's contract has it, under sealing_key."
        )
    return public


def sealing(config: Policy | Contract) -> Contract:
    """The contract of this configuration, if its reports can be sealed; others are refused."""
    contract = config if isinstance(config, Contract) else contract_of(config)
    batch = contract.report.batch
    if batch is None:
        raise BadInput(
            f"Expected a policy with batches, got {contract.config.slug}, whose reports are private one by one and "
            "need no shuffler: give them to the server as they come."
        )
    if contract.whole and contract.largest * batch >= MODULUS:
        raise BadInput(
            f"Expected totals below {MODULUS:,}, got up to {contract.largest * batch:,}: they could not be told "
            "from others under a mask. Use a coarser grid or smaller batches."
        )
    if _batch_numbers(contract) > MOST_IN_BATCH:
        raise BadInput(
            f"Expected a sealed batch as long as {MOST_IN_BATCH:,} numbers at most, got {_batch_numbers(contract):,}. "
            "Use smaller batches."
        )
    return contract


def most_in_report(contract: Contract) -> int:
    """Characters a sealed report may have at most."""
    return limit_of(_report_numbers(contract))


def most_in_batch(contract: Contract) -> int:
    """Characters a sealed batch may have at most."""
    return limit_of(_batch_numbers(contract))


def batch_length(contract: Contract) -> int:
    """Characters a sealed batch has at most, as a shuffler writes it: for whoever limits what it reads."""
    text = 4 * -(-_length(contract) // 3) + 3  # base64, quotes and a comma
    totals = contract.report.size * (len(str(MODULUS)) + 1) if contract.whole else 0
    return limit_of(0) + totals + (contract.report.batch or 0) * text


# The device's part --------------------------------------------------------------------------------------------------


def seal_report(
    config: Policy | Contract,
    report: dict[str, Any] | str | bytes,
    public: str,
    *,
    once: bytes | None = None,
    seed: bytes | None = None,
) -> dict[str, Any]:
    """A report, as `device.report` wrote it, sealed to the server's public key: for the shuffler.

    Send the result as often as the network needs; never seal one report twice. The shuffler would take the two for two.
    `once` and `seed` are for golden messages only: they are the secrets of this one message, and drawn afresh.
    """
    contract = sealing(config)
    found = contract.read_report(report)
    key = bytes.fromhex(check_sealing_key(public))
    masked = None
    if contract.whole:
        plain = secrets.token_bytes(SEED) if seed is None else seed
        counts = found.values.astype(np.uint64)
        masked = ((counts + mask(plain, contract.report.size)) % MODULUS).tolist()
    else:
        plain = found.values.astype("<f8").tobytes()
    try:
        sealed = hpke.seal(key, plain, info=_INFO, bound=_bound(contract, found.stage), once=once)
    except ValueError:
        raise BadInput(
            "Expected the sealing key of a server, got a number that is no key. Take it from the server's contract."
        ) from None
    return {
        **_head(contract, "sealed-report"),
        "id": found.identity.hex(),
        "stage": found.stage,
        "masked": masked,
        "sealed": base64.b64encode(sealed).decode(),
    }


def mask(seed: bytes, size: int) -> NDArray[np.uint64]:
    """m(s): `size` numbers below 2⁵², from a seed. The k-th is the lowest 52 bits of the k-th 8 bytes, least first, of
    SHAKE256("tacit mask 1" followed by the seed)."""
    stream = hashlib.shake_256(_MASK + seed).digest(8 * size)
    return np.frombuffer(stream, "<u8").astype(np.uint64) % np.uint64(MODULUS)


# The shuffler's part ------------------------------------------------------------------------------------------------


class SealedShuffler(Shuffler):
    """A shuffler that cannot read what it mixes. `Shuffler`'s rules hold: one stage, no repeats, full batches or none.

    A repeat is told by its sealed text as well as by its id: somebody who caught a report on its way and sent it again
    under another id would otherwise double a person's part in the batch, which nobody has paid for.

    Safe to call from several threads. It cannot be pickled, copied or printed with its contents.
    """

    def __init__(self, config: Policy, *, stage: int = 0) -> None:
        self._left: tuple[int, frozenset[bytes]] = (-1, frozenset())
        sealing(config)
        super().__init__(config, stage=stage)

    def _begin(self) -> None:
        super()._begin()
        self._seals: set[bytes] = set()
        self._texts: list[str] = []

    def _read(self, report: object) -> SealedReport:
        return read_sealed_report(self._contract, report)

    def _repeated(self, found: Any) -> bool:
        stage, seals = self._left
        seal = _digest(found.sealed)
        return super()._repeated(found) or seal in self._seals or (stage == found.stage and seal in seals)

    def _put(self, found: Any) -> None:
        self._seals.add(_digest(found.sealed))
        self._texts.append(found.sealed)
        if found.masked is not None:
            self._ones = [(total + number) % MODULUS for total, number in zip(self._ones, found.masked, strict=True)]

    def _message(self) -> dict[str, Any]:
        self._random.shuffle(self._texts)
        stage, before = self._left
        self._left = (self._stage, frozenset(self._seals) | (before if stage == self._stage else frozenset()))
        return {
            **_head(self._contract, "sealed-batch"),
            "stage": self._stage,
            "reports": self._batch,
            "masked": self._ones if self._contract.whole else None,
            "sealed": self._texts,
        }

    def batch(self) -> dict[str, Any]:
        """The full batch, mixed and without its senders, for the server's `open_batch`; then the next one begins.

        Formal guarantee: what it returns has the same law in whichever order the reports came, and holds no id. Send it
        as often as the network needs: the server takes one batch per stage.
        """
        return super().batch()

    def follow(self, stage: int) -> None:
        """Go on at the stage the server is at. What was collected for another stage is dropped.

        If the server has refused the batch of this stage, its reports are not taken a second time: the server has seen
        their total, and a person pays for one.
        """
        stage = whole("stage", stage, low=0)
        with self._lock:
            if stage != self._stage:
                self._stage = stage
                self._begin()
            if stage > self._left[0]:
                self._left = (-1, frozenset())

    def __repr__(self) -> str:
        return f"<SealedShuffler of {self._contract.config!r}: stage {self._stage:,}>"

    def __reduce__(self) -> NoReturn:
        raise VaultSealed(
            "A shuffler cannot be pickled or copied: it holds people's reports one by one. Make a new one with "
            "SealedShuffler(config, stage=…)."
        )


def read_sealed_report(contract: Contract, message: object) -> SealedReport:
    """A sealed report, checked as far as anybody without the key can."""
    keys = ("id", "stage", "masked", "sealed")
    found = opened(message, "sealed-report", keys, contract=contract.fingerprint, numbers=_report_numbers(contract))
    identity, stage = as_identity(found["id"]), as_stage(found["stage"])
    masked = _masked(contract, found["masked"])
    _sealed(contract, found["sealed"])
    return SealedReport(identity, stage, masked, found["sealed"])


# The server's part --------------------------------------------------------------------------------------------------


def open_batch(config: Policy | Contract, message: dict[str, Any] | str | bytes, private: bytes) -> dict[str, Any]:
    """The batch, for `server.receive_batch`, that was sealed to this private key. It opens whole or not at all.

    There is no way to open a single report: a batch of counts gives totals, and one of fewer reports than the contract
    says is refused.
    """
    contract, key = sealing(config), _private(private)
    batch = contract.report.batch
    found = opened(
        message,
        "sealed-batch",
        ("stage", "reports", "masked", "sealed"),
        contract=contract.fingerprint,
        numbers=_batch_numbers(contract),
    )
    if type(found["reports"]) is not int or found["reports"] != batch:
        raise BadMessage(f"Expected a batch of {batch:,} reports, got one that says otherwise.")
    stage, masked, texts = as_stage(found["stage"]), _masked(contract, found["masked"]), found["sealed"]
    if type(texts) is not list or len(texts) != batch:
        raise BadMessage(f"Expected sealed to hold a list of {batch:,}, got something else. Nothing was changed.")
    sealed = [_sealed(contract, text) for text in texts]
    if len(set(sealed)) != batch:
        raise RepeatedReport(
            "Expected every report once in a batch, got one twice. Nothing was changed; is the shuffler what it says?"
        )
    public, bound = hpke.public_of(key), _bound(contract, stage)
    plain = [_opened(hpke.open_sealed(key, public, text, info=_INFO, bound=bound)) for text in sealed]
    if masked is None:
        return contract.batch_message(stage, [np.frombuffer(row, "<f8").tolist() for row in plain], None)
    totals = np.array(masked, np.uint64)
    for seed in plain:
        totals -= mask(seed, contract.report.size)  # modulo 2⁶⁴, of which 2⁵² is a part
    return contract.batch_message(stage, None, (totals % np.uint64(MODULUS)).tolist())


# Parts --------------------------------------------------------------------------------------------------------------


def _head(contract: Contract, kind: str) -> dict[str, Any]:
    return {"tacit": kind, "version": VERSION, "contract": contract.fingerprint}


def _bound(contract: Contract, stage: int) -> bytes:
    """What a sealed report belongs to: it does not open anywhere else."""
    return f"{contract.fingerprint}/{stage}".encode()


def _length(contract: Contract) -> int:
    """Bytes of a sealed text."""
    return hpke.OVERHEAD + (SEED if contract.whole else 8 * contract.report.size)


def _report_numbers(contract: Contract) -> int:
    return contract.report.size + _NUMBERS_PER_SEED


def _batch_numbers(contract: Contract) -> int:
    batch, size = contract.report.batch or 0, contract.report.size
    return size + batch * _NUMBERS_PER_SEED if contract.whole else batch * (size + _NUMBERS_PER_SEED)


def _masked(contract: Contract, value: object) -> list[int] | None:
    if not contract.whole:
        if value is not None:
            raise BadMessage("Expected masked to be null, as all of a report is sealed here, got something else.")
        return None
    found = as_array("masked", value, (contract.report.size,), largest=MODULUS - 1, whole=True, least=0.0)
    return [int(number) for number in found]


def _sealed(contract: Contract, text: object) -> bytes:
    """The bytes of a sealed text of the right length. One spelling only, or a repeat could be spelled anew."""
    length = _length(contract)
    try:
        if isinstance(text, str):
            found = base64.b64decode(text, validate=True)
            if len(found) == length and base64.b64encode(found).decode() == text:
                return found
    except (binascii.Error, ValueError):
        pass
    raise BadMessage(f"Expected sealed to be {length:,} bytes in base64, got something else. Nothing was changed.")


def _opened(plain: bytes | None) -> bytes:
    if plain is None:
        raise BadMessage(
            "Expected reports sealed to this server's key, under this contract and stage, got one that does not open: "
            "another key, another batch, or changed on its way. Nothing was changed; the batch is lost."
        )
    return plain


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _private(key: object) -> bytes:
    """The private key, if it is one. It never appears in a message."""
    if not isinstance(key, bytes | bytearray) or len(key) != hpke.KEY:
        got = f"{len(key)} bytes" if isinstance(key, bytes | bytearray) else type(key).__name__
        raise BadInput(f"Expected the private key to be {hpke.KEY} bytes, got {got}. new_sealing_key() makes one.")
    return bytes(key)
