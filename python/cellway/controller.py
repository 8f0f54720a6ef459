"""Congestion controllers written in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellway._native import Ack


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
    and the line.
    """

    #: Payload of a full segment (bytes).
    mss: int = 0
    #: Congestion window (bytes).
    cwnd: float = 0
    #: Pacing rate (bit/s), or None for no pacing.
    pacing_rate: float | None = None

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
