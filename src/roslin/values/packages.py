"""Packages that answer when they are called: `roslin.matchers` is a package, `roslin.matchers()` lists the names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self) -> Any:
        return self._answer()


def answer_calls(package: str, function: Callable[[], Any]) -> None:
    """Have a package answer with a function when it is called."""
    module = sys.modules[package]
    module.__dict__["_answer"] = function
    module.__class__ = _CallablePackage
