"""Which cluster works, in one word.

    local               as many processes of this computer as it has cores
    local:4             four of them
    tcp://host:8786     the scheduler at this address, with whatever workers it has (also tls://)

Every worker needs the same version of Roslin and of the libraries it computes with, and sees the same files under the
same names.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from roslin.errors import ArgumentError

_LOCAL = re.compile(r"local(?::([1-9]\d{0,3}))?")
_ADDRESS = re.compile(r"(?:tcp|tls)://[^\s/]+:\d{1,5}")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The address of a scheduler, or, without one, a number of processes of this computer."""

    address: str = ""
    processes: int = 0

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """A cluster from the word that names it.

        >>> Cluster.parse("local:4"), str(Cluster.parse("tcp://10.0.0.1:8786"))
        (Cluster(address='', processes=4), 'tcp://10.0.0.1:8786')
        """
        if local := _LOCAL.fullmatch(text):
            return cls(processes=int(local[1] or _cores()))
        if not _ADDRESS.fullmatch(text):
            raise ArgumentError(f"a Dask cluster must be local, local:4 or tcp://host:8786; got {text!r}")
        return cls(address=text)

    def __str__(self) -> str:
        return self.address or f"local:{self.processes}"


def _cores() -> int:
    """The cores that this process may use: fewer than the computer has, in a container or a job."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
