# SPDX-License-Identifier: GPL-2.0-only
"""The examples in the docstrings of `import tunnelcc as tc`: each name has one, and it runs."""

from __future__ import annotations

import doctest
import pathlib

import pytest

import tunnelcc as tc

# Errors without a case of their own, a text, and what needs a Linux on a virtual clock.
WITHOUT = {"__version__", "RunError", "TunnelccError", "ask_program"}
FINDER = doctest.DocTestFinder(recurse=False)


def examples(name, value):
    return [
        it for it in FINDER.find(value, name, globs={"tc": tc, "pathlib": pathlib}) if it.examples
    ]


@pytest.mark.parametrize("name", sorted(set(tc.__all__) - WITHOUT))
def test_an_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = getattr(tc, name)
    found = examples(f"tc.{name}", value)
    assert found, f"tc.{name} has no example"
    if isinstance(value, type):  # methods need none
        for method, function in vars(value).items():
            if callable(function) and function.__doc__:
                found += examples(f"tc.{name}.{method}", function)
    for test in found:
        runner = doctest.DocTestRunner(verbose=False)
        report = []
        runner.run(test, out=report.append)
        assert not runner.failures, "".join(report)
