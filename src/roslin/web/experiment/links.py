"""Signatures: personal links, sessions and forms, each with the key of the study and for its purpose alone.

A link holds the name of an expert, which nobody guesses, and a signature of it. So a link that was made up is refused
without a look into the database, and one of another study is made up. A session is made anew each time that a link is
followed (whatever the browser brought along is forgotten) and ends after some days. A token for forms belongs to one
session.
"""

from __future__ import annotations

import re
import secrets
import time

from roslin.web.signing import Signer

_DAY_SECONDS = 86_400
_LINK = re.compile(r"([0-9a-z]{1,40})-([A-Za-z0-9_-]{22})", re.ASCII)
_SESSION = re.compile(r"([0-9a-z]{1,40}-([0-9]{1,12})-[0-9a-f]{16})-([A-Za-z0-9_-]{22})", re.ASCII)


class StudySignatures(Signer):
    """What the key of one study signs."""

    def __init__(self, key: bytes, session_days: float = 30.0):
        super().__init__(key)
        self.session_seconds = int(session_days * _DAY_SECONDS)

    def link(self, name: str) -> str:
        """What stands in the personal link of an expert."""
        return f"{name}-{self.of('link', name)}"

    def name_in_link(self, token: str) -> str | None:
        """Whose link it is; None: nobody's."""
        found = _LINK.fullmatch(token)
        return found[1] if found and self.is_of("link", found[1], found[2]) else None

    def new_ticket(self) -> str:
        """What the form of the open invitation carries: whoever sends it becomes the expert of its name."""
        name = secrets.token_hex(10)
        return f"{name}-{self.of('ticket', name)}"

    def name_in_ticket(self, ticket: str) -> str | None:
        """The name that a ticket stands for; None: we did not write it."""
        found = _LINK.fullmatch(ticket)
        return found[1] if found and self.is_of("ticket", found[1], found[2]) else None

    def new_session(self, name: str) -> str:
        """A session of an expert that begins now."""
        about = f"{name}-{int(time.time())}-{secrets.token_hex(8)}"
        return f"{about}-{self.of('session', about)}"

    def name_in_session(self, session: str) -> str | None:
        """Whose session it is; None: nobody's, or it is over."""
        found = _SESSION.fullmatch(session)
        if not found or not self.is_of("session", found[1], found[3]):
            return None
        is_over = time.time() - int(found[2]) > self.session_seconds
        return None if is_over else found[1].partition("-")[0]

    def form(self, session: str) -> str:
        """The token that every form of a session carries."""
        return self.of("form", session)

    def is_form(self, session: str, token: str) -> bool:
        """Whether a form belongs to a session."""
        return self.is_of("form", session, token)
