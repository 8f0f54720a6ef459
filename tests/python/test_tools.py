"""The script that runs all tests: its counts decide whether a change is good."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "test.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_all_tests", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        (
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.02s\n",
            (12, 0, 1),
        ),
        ("test result: \x1b[31mFAILED\x1b[0m. 3 passed; 2 failed; 0 ignored; 0 measured\n", (3, 2, 0)),
        ("test cell::tests::test_result_ok ... ok\n", (0, 0, 0)),
        ("running 12 tests\n", (0, 0, 0)),
        ("skipped: tshark is not installed\n", (-1, 0, 1)),
        ("test a_path_is_there ... skipped: /dev/net/tun is missing\n", (-1, 0, 1)),
        ("it skipped: nothing\n", (0, 0, 0)),
    ],
)
def test_cargo_lines_are_counted(tool: ModuleType, line: str, counts: tuple[int, int, int]) -> None:
    found = tool.of_cargo_line(line)
    assert (found.passed, found.failed, found.skipped) == counts


@pytest.mark.parametrize(
    ("reason", "programs"),
    [
        ("skipped: tshark is not installed\n", {"tshark"}),
        ("test a_jump ... skipped: the program `nft` is missing (package nftables)\n", {"nft"}),
        ("skipped: the program `script` (package util-linux or bsdutils) cannot be run: not found\n", {"script"}),
        ("skipped: docs/guide/measure.md, measured: iperf3 is not installed\n", {"iperf3"}),
        ("skipped: no browser is installed: none of chromium, google-chrome\n", {"browser"}),
        ("skipped: libfaketime is missing, with which clocks jump\n", {"libfaketime"}),
        ("skipped: the program `ip` is missing: install the package iproute2; /dev/net/tun is missing\n", {"ip"}),
        ("skipped: the program `other` is missing\n", {"other"}),
        ("skipped: /dev/net/tun is missing\n", set()),
        ("a line of a program: curl is missing\n", set()),
    ],
)
def test_skipped_tests_name_missing_programs(tool: ModuleType, reason: str, programs: set[str]) -> None:
    assert tool.of_cargo_line(reason).missing == programs


def test_the_advice_names_packages_once(tool: ModuleType) -> None:
    assert tool.advice(frozenset({"unshare", "setpriv", "ping"})) == (
        "tests were skipped because programs are missing: ping, setpriv, unshare "
        "(Debian: apt install iputils-ping util-linux)"
    )
    assert tool.advice(frozenset({"other"})) == "tests were skipped because programs are missing: other"


def test_every_program_that_the_tests_of_the_gateway_use_has_its_package(tool: ModuleType) -> None:
    folder = SCRIPT.parents[1] / "crates" / "gatewayd" / "tests"
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.rs")]
    lists = [
        words for text in texts for words in re.findall(r'\binstalled\(("[^"]*")\)|\bcan\([^&]*&\[([^]]*)\]', text)
    ]
    used = {program for words in lists for program in re.findall(r'"([^"]+)"', "".join(words))}
    assert {"ab", "curl", "vsftpd"} <= used
    assert used <= tool.PACKAGES.keys()


def test_the_report_of_pytest_is_counted(tool: ModuleType) -> None:
    text = '<testsuites><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10"/></testsuites>'
    assert tool.of_junit(text) == tool.Counts(4, 3, 3)


def test_the_report_of_pytest_names_missing_programs(tool: ModuleType) -> None:
    skipped = '<skipped type="pytest.skip" message="ns is not installed (Debian: ns2): no comparison"/>'
    text = f'<testsuite errors="0" failures="0" skipped="1" tests="1"><testcase>{skipped}</testcase></testsuite>'
    assert tool.of_junit(text) == tool.Counts(0, 0, 1, frozenset({"ns"}))


def test_all_parts_are_summed(tool: ModuleType) -> None:
    assert tool.closing([(0, tool.Counts(5, 0, 1)), (0, tool.Counts(7, 0, 0))]) == (0, tool.Counts(12, 0, 1))


def test_a_part_that_did_not_run_is_a_failure(tool: ModuleType) -> None:
    status, total = tool.closing([(101, tool.Counts()), (0, tool.Counts(7, 0, 0))])
    assert status == 101
    assert str(total) == "7 passed, 1 failed, 0 skipped"


def test_failed_tests_are_not_counted_twice(tool: ModuleType) -> None:
    assert tool.closing([(101, tool.Counts(5, 2, 0)), (1, tool.Counts(6, 1, 0))]) == (101, tool.Counts(11, 3, 0))


@pytest.mark.parametrize(("code", "status"), [(0, 0), (7, 7), (-9, 1)])
def test_the_whole_ends_with_the_line_and_the_status(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], code: int, status: int
) -> None:
    line = "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured"
    end = f"os.kill(os.getpid(), {-code})" if code < 0 else f"sys.exit({code})"
    monkeypatch.setattr(tool, "CARGO", [sys.executable, "-c", f"import os, sys; print({line!r}, flush=True); {end}"])
    monkeypatch.setattr(tool, "PYTEST", [sys.executable, "-c", "print('pytest says hello')"])
    part = [sys.executable, "-c", "print('test result: ok. 5 passed; 0 failed; 0 ignored')"]
    monkeypatch.setattr(tool, "SUITES", {suite: [part] * len(parts) for suite, parts in tool.SUITES.items()})
    for suite in ("--live", "--live-gateway"):
        monkeypatch.setattr(sys, "argv", ["test.py", suite])
        assert tool.main() == 0
        assert capfd.readouterr().out.endswith("\n10 passed, 0 failed, 0 skipped\n")
    monkeypatch.setattr(sys, "argv", ["test.py"])
    assert tool.main() == status
    out = capfd.readouterr().out
    assert "pytest says hello" in out
    assert out.endswith(f"\n2 passed, {int(code != 0)} failed, 1 skipped\n")


def test_missing_programs_are_named_before_the_counts(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = "skipped: tshark is not installed\ntest result: ok. 2 passed; 0 failed; 0 ignored"
    monkeypatch.setattr(tool, "CARGO", [sys.executable, "-c", f"print({lines!r})"])
    monkeypatch.setattr(tool, "PYTEST", [sys.executable, "-c", ""])
    monkeypatch.setattr(sys, "argv", ["test.py"])
    assert tool.main() == 0
    assert capfd.readouterr().out.endswith(f"\n{tool.advice(frozenset({'tshark'}))}\n1 passed, 0 failed, 1 skipped\n")
