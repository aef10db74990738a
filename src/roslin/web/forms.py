"""What our own pages send: forms, and whether it was another site that sent them.

Browsers say so in `Sec-Fetch-Site` and `Origin`. Our pages tell browsers to send no referrer, so `Origin` is often
`null`; then `Sec-Fetch-Site` decides.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import FormData

_OWN_SITES = ("same-origin", "none")
_MOST_FIELDS = 300


def is_foreign(request: Request, public_address: str = "") -> bool:
    """Whether another site sent it. `public_address`: where people reach us, if they see another one than we do."""
    site, origin = request.headers.get("sec-fetch-site", ""), request.headers.get("origin", "")
    own = {request.headers.get("host", "").lower(), urlsplit(public_address).netloc.lower()} - {""}
    is_elsewhere = bool(origin) and origin != "null" and urlsplit(origin).netloc.lower() not in own
    return is_elsewhere or (bool(site) and site not in _OWN_SITES)


async def read_form(request: Request) -> FormData:
    """The fields of a form; files are refused."""
    return await request.form(max_files=0, max_fields=_MOST_FIELDS)
