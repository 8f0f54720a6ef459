"""Arguments of the wrong type are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from cellway import arguments

native = pytest.importorskip("cellway._native")


def test_values_of_the_right_type_pass() -> None:
    assert arguments.quantity("window", "64 KiB", "64 KiB") == "64 KiB"
    assert arguments.quantity("window", None, "64 KiB") is None
    assert arguments.count("seeds", 3) == 3
    assert arguments.share("loss", 0) == 0.0
    assert arguments.changes("set", None) == {}


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("rate", 40e6, 'like "40 Mbit/s"'),
        ("rtt", 0.06, 'like "60 ms"'),
        ("window", 65536, 'like "64 KiB"'),
        ("mss", 1460, 'like "1460 B"'),
        ("framing", 3, 'like "packet"'),
        ("loss", "1%", "a number from 0 to 1"),
        ("buffer", 256, 'like "256 cell"'),
        ("delayed_ack", "on", "True, False or None"),
        ("source_rate", 1, 'like "149.76 Mbit/s"'),
        ("shaping", 1, 'like "20 Mbit/s"'),
        ("connections", "two", "a whole number from 1"),
    ],
)
def test_predict_names_the_argument(name: str, value: object, accepted: str) -> None:
    import cellway

    given: dict[str, Any] = {"rate": "ds3", "rtt": "60 ms", "window": "64 KiB", name: value}
    with pytest.raises(TypeError) as raised:
        cellway.predict(**given)
    assert str(raised.value).startswith(f"{name} is {value!r}; accepted: ")
    assert accepted in str(raised.value)


def test_a_wrong_string_is_reported_with_the_name_of_the_argument() -> None:
    import cellway

    with pytest.raises(cellway.Error, match=r"^source_rate: "):
        cellway.predict(rate="ds3", rtt="60 ms", window="64 KiB", source_rate="fast")
    with pytest.raises(cellway.Error, match=r"^window: "):
        cellway.predict(rate="ds3", rtt="60 ms", window="large")


def test_other_functions_name_theirs() -> None:
    import cellway

    text = "version = 1\n"
    wrong: Any = "3"
    with pytest.raises(TypeError, match=r"^seeds is '3'; accepted: a whole number from 1$"):
        cellway.simulate(text, seeds=wrong)
    with pytest.raises(TypeError, match=r"^threads is '3'"):
        cellway.simulate(text, threads=wrong)
    with pytest.raises(ValueError, match=r"^repeat is 0; it must be 1 or more$"):
        cellway.compare(text, repeat=0)
    with pytest.raises(TypeError, match=r"^set is '3'; accepted: a dict"):
        cellway.check(text, set=wrong)
    number: Any = 131072
    with pytest.raises(TypeError, match=r"^window is 131072; accepted: a string"):
        cellway.evaluate("window-over-rtt", window=number, rtt="8.8 ms")
