"""Ports for servers that tests start, chosen by the system and kept from everybody else."""

from __future__ import annotations

import socket
import sys

_KEPT: list[socket.socket] = []


def free_port() -> int:
    """A port on which a server can listen now and, after its end, again, until the tests are over.

    Between the choice and the start of the server, the system could give a port to another program or connection. Linux
    does not do that while a socket is bound to it, and lets a server listen there if both sockets allow reuse.
    """
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind(("127.0.0.1", 0))
    port: int = found.getsockname()[1]
    if sys.platform == "linux":
        _KEPT.append(found)
    else:
        found.close()
    return port
