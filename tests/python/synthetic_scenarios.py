"""Scenarios of the papers' networks in the words of scenario files, for the drawings. They are never run."""

from __future__ import annotations

KDD = """
node = [
    { name = "lan-us", kind = "switch" }, { name = "gw-us", kind = "gateway", peer = "gw-jp" },
    { name = "us", kind = "switch" }, { name = "jp", kind = "switch" },
    { name = "gw-jp", kind = "gateway", peer = "gw-us" }, { name = "lan-jp", kind = "switch" },
]
link = [
    { between = ["lan-us", "gw-us"], rate = "oc3c", delay = "1.1 ms" },
    { between = ["gw-us", "us"], rate = "oc3c", delay = "0 s" },
    { between = ["us", "jp"], rate = "ds3", delay = "86.4 ms" },
    { between = ["jp", "gw-jp"], rate = "oc3c", delay = "0 s" },
    { between = ["gw-jp", "lan-jp"], rate = "oc3c", delay = "1.1 ms" },
]
[[traffic]]
name = "ttcp"
app = "ttcp"
count = 8
from = "lan-jp"
to = "lan-us"
access = { rate = "oc3c", framing = "atm" }
"""

KDD_ETHERNET = """
node = [
    { name = "r-us", kind = "router" }, { name = "gw-us", kind = "gateway", peer = "gw-jp" },
    { name = "gw-jp", kind = "gateway", peer = "gw-us" }, { name = "r-jp", kind = "router" },
]
link = [
    { between = ["r-us", "gw-us"], rate = "oc3c", delay = "0 s" },
    { between = ["gw-us", "gw-jp"], rate = "ds3", delay = "86.4 ms" },
    { between = ["gw-jp", "r-jp"], rate = "oc3c", delay = "0 s" },
]
[[traffic]]
name = "ttcp"
from = "r-us"
to = "r-jp"
access = { rate = "ethernet", framing = "ethernet" }
"""

MAGIC = """
node = [
    { name = "alpha-1", kind = "host" }, { name = "alpha-2", kind = "host" }, { name = "lawrence", kind = "switch" },
    { name = "asx-100", kind = "switch" }, { name = "sparc-10", kind = "host" },
]
link = [
    { between = ["alpha-1", "lawrence"], rate = "oc3c", delay = "0 s" },
    { between = ["alpha-2", "lawrence"], rate = "oc3c", delay = "0 s" },
    { between = ["lawrence", "asx-100"], rate = "oc3c", delay = "4.4 ms" },
    { between = ["asx-100", "sparc-10"], rate = "taxi", delay = "0 s" },
]
traffic = [
    { name = "alpha", app = "bulk", from = "alpha-1", to = "sparc-10" },
    { name = "beta", app = "bulk", from = "alpha-2", to = "sparc-10" },
]
"""

NASA = """
node = [{ name = "r1", kind = "router" }, { name = "s1", kind = "switch" }, { name = "s2", kind = "switch" }]
link = [
    { between = ["r1", "s1"], rate = "oc3c", delay = "0 s" },
    { between = ["s1", "s2"], rate = "ds3", delay = "30 ms" },
]
[[traffic]]
name = "stream"
app = "bulk"
from = "r1"
to = "s2"
access = { rate = "fddi", framing = "fddi" }
service = { class = "vbr-nrt", pcr = "20 Mbit/s", scr = "10 Mbit/s", mbs = "200 cell" }
[[traffic]]
name = "other"
app = "bulk"
count = 2
from = "s1"
to = "s2"
access = { rate = "oc3c", framing = "atm" }
[[policer]]
name = "upc"
at = "s1"
link = "s1-s2"
traffic = ["stream"]
pcr = "20 Mbit/s"
[[change]]
at = "20 s"
traffic = "stream"
pcr = "10 Mbit/s"
[[change]]
at = "40 s"
traffic = "stream"
pcr = "20 Mbit/s"
"""

SPACING = """
node = [{ name = "a", kind = "host" }, { name = "s1", kind = "switch" }, { name = "b", kind = "host" }]
link = [
    { between = ["a", "s1"], rate = "e3", delay = "0.1 ms", framing = "atm" },
    { between = ["s1", "b"], rate = "e3", delay = "0.1 ms", framing = "atm" },
]
[[traffic]]
name = "anim"
app = "animation"
from = "a"
to = "b"
[[shaper]]
name = "spacer"
at = "s1"
link = "s1-b"
rate = "33.92 Mbit/s"
[[change]]
at = "20 s"
shaper = "spacer"
rate = "5 Mbit/s"
[[change]]
at = "40 s"
shaper = "spacer"
rate = "10 Mbit/s"
"""
