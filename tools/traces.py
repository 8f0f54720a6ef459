"""Make the recorded links of the examples: python tools/traces.py [FOLDER], by default scenarios/traces.

They are not recordings. lte.down and lte.up follow the model of a cellular link by Winstein, Sivaraman and Balakrishnan
(NSDI 2013): opportunities to send a packet are a Poisson process whose rate is a Brownian motion of 200 packets/s per
root second from 0 to 1000 packets/s (600 for lte.up), which stays at 0 for 1 s on average once it gets there. leo.csv
has what measurements of Starlink found (Mohan et al., WWW 2024; Garcia et al., LEO-NET 2023): a new satellite every
15 s, with another delay and capacity, and losses when it takes over.
"""

import math
import random
import sys
from pathlib import Path

SECONDS = 20
STEP = 0.02
DEVIATION = 200.0


def poisson(mean: float, random_: random.Random) -> int:
    """Draw a number of events."""
    limit, product, count = math.exp(-mean), random_.random(), 0
    while product > limit:
        product *= random_.random()
        count += 1
    return count


def cellular(seed: int, most: float) -> str:
    """Return the opportunities of a cellular link, in ms."""
    random_ = random.Random(seed)
    rate, times = most / 2, []
    for step in range(round(SECONDS / STEP)):
        if rate > 0 or random_.random() < STEP:
            rate = min(max(rate + random_.gauss(0, DEVIATION * math.sqrt(STEP)), 0.0), most)
        for ms in range(round(STEP * 1000)):
            times += [round(step * STEP * 1000) + ms + 1] * poisson(rate / 1000, random_)
    return "".join(f"{time}\n" for time in times)


def satellite(seed: int) -> str:
    """Return rate, delay and loss of a link over satellites in low orbits."""
    random_ = random.Random(seed)
    rows = ["time,rate,delay,loss"]
    for start in range(0, 4 * 15, 15):
        delay, drift, rate = random_.uniform(18, 32), random_.uniform(-0.3, 0.3), random_.uniform(60, 160)
        rows.append(f"{start},{rate / 4:.1f} Mbit/s,{delay:.2f} ms,{5 if start else 0} %")
        for tenth in range(2, 150, 5):
            now = max(rate * random_.gauss(1, 0.12), 10)
            rows.append(f"{start + tenth / 10},{now:.1f} Mbit/s,{delay + drift * tenth / 10:.2f} ms,0.001 %")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Write the files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "scenarios" / "traces"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lte.down").write_text(cellular(4, 1000))
    (folder / "lte.up").write_text(cellular(4, 600))
    (folder / "leo.csv").write_text(satellite(1))


if __name__ == "__main__":
    main()
