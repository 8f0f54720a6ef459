"""Congestion controllers written in Python."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cellway._native import Ack

CALLED = ("on_start", "on_ack", "on_loss", "on_timeout", "on_undo")
"""The methods that a simulation calls."""

ALIKE = 0.82
"""Least similarity, as `difflib` has it, of a name that is taken for a misspelt one: above that of `on_packet` and
`on_ack`."""


class Controller:
    """A congestion controller of your own: a subclass with `on_ack`, and the other methods as needed.

        class Half(cellway.Controller):
            def on_ack(self, ack):
                self.cwnd += self.mss * ack.delivered / self.cwnd

        cellway.simulate("scenario.toml", controllers={"bulk": Half})

    Each host of each connection has an object of its own. A method reads and sets two attributes: `cwnd`, the
    congestion window in bytes, and `pacing_rate` in bit/s, or None to send as fast as the window allows. `mss` is the
    payload of a full segment, in bytes. Loss recovery stays that of the scenario, RACK-TLP: which segments are lost,
    and what is sent again. The window holds in recovery, too.

    A method that raises, or leaves a `cwnd` below one segment, ends the simulation with an `Error` that names the file
    and the line. A public method whose name is nearly one of these, such as `on_acks`, is a `TypeError` of the class.
    """

    #: Payload of a full segment (bytes).
    mss: int = 0
    #: Congestion window (bytes).
    cwnd: float = 0
    #: Pacing rate (bit/s), or None for no pacing.
    pacing_rate: float | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse methods that look like misspelt ones, which would never be called."""
        super().__init_subclass__(**kwargs)
        own = [base for base in cls.__mro__ if base not in (Controller, object)]
        for name, value in [item for base in own for item in vars(base).items()]:
            if name.startswith("_") or name in CALLED or not callable(value):
                continue
            meant = difflib.get_close_matches(name.lower(), CALLED, n=1, cutoff=ALIKE)
            if meant:
                raise TypeError(
                    f"{cls.__name__}.{name} is never called; did you mean {meant[0]}? Called are {', '.join(CALLED)}; "
                    f"a method of your own needs another name, such as _{name}"
                )

    def on_start(self, now: float, srtt: float | None) -> None:
        """Called when the connection is established, at `now` (s); `cwnd` is the initial window.

        `srtt` is the round trip of the handshake (s), as coarse as the clock of the scenario's TCP.
        """

    def on_ack(self, ack: Ack) -> None:
        """Called at each acknowledgement, after its losses are known."""
        raise NotImplementedError(f"{type(self).__name__} has no on_ack(self, ack)")

    def on_loss(self) -> None:
        """Called when a loss is found while none is under repair; halves the window unless it is overridden."""
        self.cwnd = max(self.cwnd / 2, 2 * self.mss)

    def on_timeout(self) -> None:
        """Called when the retransmission timer expires.

        Afterwards the window is one segment beside what is in flight: a `cwnd` set here is lost.
        """

    def on_undo(self, before: float) -> None:
        """Called if nothing was lost after all; restores the window `before` the loss unless it is overridden."""
        self.cwnd = max(self.cwnd, before)
