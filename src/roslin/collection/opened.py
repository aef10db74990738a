"""Collections that tasks of one process share: each is opened once, and again only when it has changed.

A task that is sent to another process names its collection by path and token; what it finds there is the state that it
was made for, or an error.
"""

from __future__ import annotations

import atexit
from threading import Lock

from roslin.collection.store import Store
from roslin.errors import CollectionError

_MOST = 64  # the one that was opened first makes room
_OPENED: dict[str, Store] = {}
_LOCK = Lock()


def opened(path: str, token: str) -> Store:
    """The state of a collection with this token. Whoever gets it leaves it open."""
    with _LOCK:
        known = _OPENED.get(path)
        if known is not None and known.about["token"] == token:
            return known
        store = Store(path)
        if store.about["token"] != token:
            store.close()
            raise CollectionError(f"{path}: the collection has changed since the work began; start it again")
        if known is not None:
            _close(path)
        elif len(_OPENED) >= _MOST:
            _close(next(iter(_OPENED)))
        _OPENED[path] = store
        return store


def _close(path: str) -> None:
    _OPENED.pop(path).close()


@atexit.register
def _close_all() -> None:
    for path in list(_OPENED):
        _close(path)
