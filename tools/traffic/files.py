"""Makes the files of the servers: keys, pages, a database."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from traffic.classes import FILES, PAGE_OBJECTS, Class, postgresql

ROWS = 20_000
"""Rows of the table that is queried."""
SSHD = """\
Port {port}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
StrictModes no
PrintMotd no
PrintLastLog no
UseDNS no
MaxStartups 200
Subsystem sftp internal-sftp
"""


def sizes(count: int, median: float, sigma: float, most: int, seed: int) -> list[int]:
    """Return sizes of a lognormal distribution (octets)."""
    draw = random.Random(seed)
    return [min(most, max(1000, round(draw.lognormvariate(0, sigma) * median))) for _ in range(count)]


def prepare(folder: Path, classes: Sequence[Class]) -> None:
    """Make the files that these classes need."""
    names = {one.name for one in classes}
    # The database's user must reach its folder.
    folder.chmod(0o755)
    web = folder / "web"
    web.mkdir()
    draw = random.Random(7)
    for number, size in enumerate(sizes(FILES, 90_000, 1.1, 900_000, 1)):
        (web / f"file-{number}").write_bytes(draw.randbytes(size))
    for number, size in enumerate(sizes(PAGE_OBJECTS, 25_000, 0.9, 150_000, 2)):
        (web / f"object-{number}.png").write_bytes(draw.randbytes(size))
    images = "".join(f'<img src="object-{number}.png">' for number in range(PAGE_OBJECTS))
    (web / "page.html").write_text(f"<!doctype html><title>page</title>{images}<p>{'text ' * 1500}", encoding="utf-8")
    if names & {"ssh", "scp"}:
        for key in ("host", "key"):
            made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
            subprocess.run(made, check=True, capture_output=True)
        for one in classes:
            if one.name in ("ssh", "scp"):
                (folder / one.name).write_text(SSHD.format(port=one.port, folder=folder), encoding="utf-8")
        for number, size in enumerate(sizes(FILES, 200_000, 0.9, 900_000, 3)):
            (folder / f"copy-{number}").write_bytes(draw.randbytes(size))
    if "postgresql" in names:
        _database(folder)


def _database(folder: Path) -> None:
    """Initialise a database whose only user is trusted, as the kernel keeps others out of its namespace."""
    programs = postgresql()
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed")
    data = folder / "database"
    data.mkdir()
    shutil.chown(data, "postgres")
    made = [programs / "initdb", "-D", data, "-A", "trust", "--no-sync", "-U", "postgres"]
    subprocess.run(["runuser", "-u", "postgres", "--", *map(str, made)], check=True, capture_output=True, cwd="/")
    with (data / "pg_hba.conf").open("a", encoding="utf-8") as rules:
        rules.write("host all all 0.0.0.0/0 trust\n")
