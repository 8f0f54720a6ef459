"""The interface of the compiled part. Users call `cellway`, not this module."""

from collections.abc import Callable, Sequence

result_version: int
version: str

Source = str | tuple[str, str, str]
"""The path of a file; or a text, the folder at which its relative paths start, and its name in messages, which is empty
for a text that Python wrote."""

class Error(Exception):
    """Anything that Cellway refuses or that fails while it runs."""

class ScenarioError(Error, ValueError):
    """A scenario that is not valid: the message names file, line, key and what is accepted."""

class MissingFileError(Error, FileNotFoundError):
    """A file or folder that does not exist: the message names it."""

class EmulationError(Error):
    """An emulation that this machine cannot run, or that was aborted: the message has the reason."""

class Table:
    """An Arrow table: hand it to polars, pyarrow or any reader of the Arrow C stream interface, without a copy."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Results:
    @property
    def runs(self) -> Table: ...
    @property
    def summary(self) -> Table: ...
    @property
    def series(self) -> Table: ...
    @property
    def manifest(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...

class Program:
    def id(self) -> int: ...
    def poll(self) -> int | None: ...
    def end(self) -> int: ...

class Emulation:
    def __init__(self, source: Source, set: list[tuple[str, str]], log: str | None) -> None: ...
    def hosts(self) -> list[tuple[str, str]]: ...
    def links(self) -> list[str]: ...
    def over(self) -> str | None: ...
    def spawn(
        self,
        host: str,
        run: list[str],
        environment: list[tuple[str, str]],
        files: tuple[str | None, str, str],
    ) -> Program: ...
    def is_listening(self, host: str, port: int) -> bool: ...
    def set_rate(self, link: str, direction: str | None, rate: str) -> None: ...
    def set_delay(self, link: str, direction: str | None, delay: str) -> None: ...
    def set_loss(self, link: str, direction: str | None, loss: str) -> None: ...
    def end(self) -> Results: ...

class Ack:
    """An acknowledgement, for `Controller.on_ack`."""

    @property
    def now(self) -> float:
        """Simulated time (s)."""
    @property
    def delivered(self) -> int:
        """Newly acknowledged, cumulatively or selectively (bytes)."""
    @property
    def lost(self) -> int:
        """Newly lost (bytes)."""
    @property
    def marked(self) -> int:
        """Newly reported as marked (bytes); needs `ecn` in the scenario."""
    @property
    def in_flight(self) -> int:
        """Sent and neither acknowledged nor lost (bytes)."""
    @property
    def total_delivered(self) -> int:
        """Acknowledged since the connection began (bytes)."""
    @property
    def rtt(self) -> float | None:
        """Round trip of the newest segment that it acknowledges (s); None if that was sent more than once."""
    @property
    def delivery_rate(self) -> float | None:
        """Rate at which data was delivered while that segment was in flight (bit/s); None if not reliable."""
    @property
    def app_limited(self) -> bool:
        """True if the application had too little to send when that segment was sent."""
    @property
    def window_limited(self) -> bool:
        """True if the window was full within the last round trip."""
    @property
    def recovering(self) -> bool:
        """True while a loss is repaired."""

def simulate(
    source: Source,
    set: list[tuple[str, str]],
    seeds: int | None,
    threads: int | None,
    controllers: Sequence[tuple[str, Callable[[], object]]],
    out: str | None,
    force: bool,
    cache: str | None,
    progress: Callable[[int, int], None] | None,
) -> Results: ...
def emulates_here() -> bool: ...
def emulate(
    source: Source,
    set: list[tuple[str, str]],
    seeds: int | None,
    out: str | None,
    force: bool,
    log: str | None,
    progress: Callable[[int, int], None] | None,
) -> Results: ...
def compare(
    source: Source,
    set: list[tuple[str, str]],
    seeds: int | None,
    repeat: int | None,
    no_emulate: bool,
    published: str | None,
    threads: int | None,
    out: str | None,
    force: bool,
    cache: str | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[Results, str]: ...

# These return the JSON documents of the command line, which `cellway.predicted` reads.
def check(source: Source, set: list[tuple[str, str]]) -> str: ...
def predict(source: Source, set: list[tuple[str, str]]) -> str: ...
def predict_path(path: dict[str, str]) -> str: ...
def evaluate(equation: str, arguments: dict[str, str]) -> str: ...
def equations() -> str: ...
def metrics() -> str: ...
def reproduce(
    papers: list[str],
    only: list[str],
    quick: bool,
    emulate: bool | None,
    out: str | None,
    force: bool,
    threads: int | None,
    cache: str | None,
    progress: Callable[[int, int], None] | None,
) -> str: ...
def confidence_interval(sample: list[float], level: float, metric: str | None) -> tuple[float, float] | None: ...
def signs_of_use() -> tuple[float, list[str]]: ...
def picoseconds(text: str) -> int: ...
def time_text(picoseconds: int) -> str: ...
def schema() -> str: ...
def cli_main(argv: list[str], face: object) -> int: ...

class Sweep:
    @staticmethod
    def plan(source: Source, set: list[tuple[str, str]], seeds: int | None, store: str) -> Sweep: ...
    @staticmethod
    def open(store: str) -> Sweep: ...
    @property
    def runs(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    def missing(self, retry: bool = False) -> list[int]: ...
    def failures(self) -> list[tuple[int, int, str]]: ...
    def run(
        self,
        runs: list[int] | None,
        part: str | None,
        threads: int | None,
        fail_fast: bool,
        progress: Callable[[int, int], None] | None,
    ) -> tuple[int, int, int]: ...
    def complete(
        self,
        out: str,
        threads: int | None,
        fail_fast: bool,
        retry: bool,
        progress: Callable[[int, int], None] | None,
    ) -> tuple[int, int, int]: ...
    def until(
        self,
        criteria: list[str],
        max_seeds: int,
        budget: float | None,
        threads: int | None,
        fail_fast: bool,
        retry: bool,
        progress: Callable[[int, int], None] | None,
    ) -> list[tuple[int, str]]: ...
    def merge(self, out: str, partial: bool) -> list[str]: ...
