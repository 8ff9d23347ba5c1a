#!/usr/bin/env python3
"""The same path requests, decided by `langchain-mero-tools` (PyPI) under Python.

    cargo run --release -- --sizes 10,100,1000 --export /tmp/workloads.json
    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install langchain-mero-tools
    /tmp/peers/bin/python mero_tools.py /tmp/workloads.json

Each decision is timed by itself and checked against what is right. Engines that take
long decide fewer requests: a size gets 20 seconds.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from langchain_mero_tools.core.exceptions import MeroToolsError
from langchain_mero_tools.core.security import PathEntry, Permission, SecurityContext

PATIENCE = 20.0


def context(workload, base):
    """The rules as a security context: the same mounts, the same list of patterns."""
    root = PathEntry(
        path=str(base),
        slug="root",
        allowed_permission=Permission.READ | Permission.WRITE,
        denied_path_regex=workload["hides"],
    )
    entries = [root]
    for number, (directory, readable) in enumerate(workload["mounts"]):
        (base / directory).mkdir(parents=True, exist_ok=True)
        right = Permission.READ if readable else Permission.WRITE
        entries.append(
            PathEntry(path=str(base / directory), slug=f"m{number}", allowed_permission=right)
        )
    return SecurityContext(paths=entries)


def allows(security, path):
    try:
        security.check_path_access(path, Permission.READ)
    except MeroToolsError:
        return False
    return True


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        workloads = json.load(file)
    print(f"{'rules':>7} {'p50 ns':>12} {'p99 ns':>12} {'load ms':>10} {'requests':>9} {'wrong':>6}")
    for workload in workloads:
        with tempfile.TemporaryDirectory() as directory:
            begin = time.perf_counter()
            security = context(workload, Path(directory).resolve())
            load = time.perf_counter() - begin
            times, wrong = [], 0
            start = time.perf_counter()
            for path, right in zip(workload["paths"], workload["right"]):
                before = time.perf_counter_ns()
                got = allows(security, path)
                times.append(time.perf_counter_ns() - before)
                wrong += got != right
                if time.perf_counter() - start > PATIENCE:
                    break
        times.sort()
        at = lambda part: times[int((len(times) - 1) * part)]
        print(
            f"{workload['rules']:>7} {at(0.5):>12} {at(0.99):>12} {load * 1e3:>10.1f}"
            f" {len(times):>9} {wrong:>6}"
        )


if __name__ == "__main__":
    main()
