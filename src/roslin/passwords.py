"""Passwords as they are kept: a random salt and a slow digest (scrypt), compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets


def hashed(password: str) -> str:
    """A password as it is kept.

    >>> is_password("viola", hashed("viola")), is_password("viola", hashed("violin"))
    (True, False)
    """
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}:{_digest(password, salt).hex()}"


def is_password(text: str, kept: str) -> bool:
    """Whether this is the password that was hashed."""
    salt, _, digest = kept.partition(":")
    return hmac.compare_digest(_digest(text, bytes.fromhex(salt)), bytes.fromhex(digest))


def _digest(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, n=2**14, r=8, p=1)
