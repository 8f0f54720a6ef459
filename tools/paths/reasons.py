"""The reasons for which estimates of the page are outside of their limits, by path and end, as found by hand."""

from __future__ import annotations

_NARROW = "An acknowledgement takes {} ms on its link, whose rate the capture does not show; the interval allows for it"
_LOADED = "The acknowledgements of the other transfer take 1.5 % of the link, and the rate is what is left"
_CLUMPS = "The emulator passes what it held back in clumps, so that the jitter does not show in the times"
REASONS: dict[str, str] = {
    "20261129-20, sender": _NARROW.format(1.5),
    "20261129-20, receiver": _NARROW.format(1.5),
    "loaded back, sender": _LOADED,
    "loaded back, receiver": _LOADED,
    "jitter, receiver": _CLUMPS,
    "policer, sender": "The link before the policer has 200 Mbit/s, which is the value; the lower end allows for it",
}
