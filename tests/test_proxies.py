"""The files of `deploy` for nginx, Caddy and systemd do what they are for, and docs/howto/server.md leads to a page.

Each proxy is started with its file, with other ports and a certificate made here. Then everything on the page of the
documentation is done from the export to a page behind nginx that the script of the timer updates.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import HTTPSHandler, Request, build_opener

import pytest
from tests.harvest.test_harvest import RECORD, oai
from tests.ports import free_port
from tests.waiting import until
from tests.web.running import running

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
PAGE = ROOT / "docs" / "howto" / "server.md"
SEARCH, HOME = "library.example.org", "/srv/roslin"

pytestmark = pytest.mark.long


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip(f"needs {name}; tools/install_programs.sh installs it")
    return found


def get(address: str, **headers: str) -> tuple[int, str]:
    """Status and text, from a server whose certificate is made here. Redirects are followed."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with build_opener(HTTPSHandler(context=context)).open(Request(address, headers=headers), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def is_up(address: str) -> bool:
    try:
        return get(address)[0] < 502
    except (URLError, OSError):
        return False


@contextmanager
def started(*command: str, log: Path, address: str, **variables: str) -> Iterator[None]:
    """A program, until the block ends."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **variables})
    try:
        until(lambda: process.poll() is not None or is_up(address))
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        process.wait(timeout=90)


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], bytes]) -> Iterator[int]:
    """A small server; gives its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answer(self)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def certificate(folder: Path) -> tuple[Path, Path]:
    cert, key = folder / "fullchain.pem", folder / "privkey.pem"
    request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run(
        [program("openssl"), *request, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True
    )
    return cert, key


@contextmanager
def nginx(file: Path, folder: Path, upstream: int) -> Iterator[str]:
    """nginx with one of our files; gives its address."""
    cert, key = certificate(folder)
    tls, plain = free_port(), free_port()
    text = file.read_text("utf-8")
    changes = {
        r"listen 80;": f"listen 127.0.0.1:{plain};",
        r"listen 443 ssl": f"listen 127.0.0.1:{tls} ssl",
        r"/etc/letsencrypt/\S+/fullchain\.pem": str(cert),
        r"/etc/letsencrypt/\S+/privkey\.pem": str(key),
        r"127\.0\.0\.1:8000": f"127.0.0.1:{upstream}",
        r"\w+\.example\.org": "localhost",
    }
    for pattern, new in changes.items():
        text, count = re.subn(pattern, new, text)
        assert count, pattern
    (folder / "site.conf").write_text(text, "utf-8")
    user = "user root;" if os.getuid() == 0 else ""
    kept = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/nginx.pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {kept} include {folder}/site.conf; }}"
    )
    command = [program("nginx"), "-e", "stderr", "-c", str(folder / "nginx.conf")]
    with started(*command, log=folder / "nginx.log", address=f"https://localhost:{tls}/"):
        yield f"https://localhost:{tls}"


@contextmanager
def caddy(file: Path, folder: Path, upstream: int) -> Iterator[str]:
    """Caddy with one of our files; gives its address. It makes a certificate for localhost by itself."""
    address = f"https://localhost:{free_port()}"
    options = "{\n\tskip_install_trust\n\tadmin off\n\tauto_https disable_redirects\n}\n"
    text = file.read_text("utf-8").replace("roslin:8000", "{$SEARCH_SERVER}")
    (folder / "Caddyfile").write_text(options + text, "utf-8")
    variables = {
        **dict.fromkeys(("STUDY_ADDRESS", "SEARCH_ADDRESS"), address),
        "SEARCH_SERVER": f"127.0.0.1:{upstream}",
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "HOME": str(folder),
    }
    command = [program("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with started(*command, log=folder / "caddy.log", address=f"{address}/", **variables):
        yield address


@pytest.mark.parametrize(
    ("start", "name", "path"),
    [
        (nginx, "nginx.conf", "/trial?x=1"),
        (nginx, "search/nginx.conf", "/tunes/?q=a%20b"),
        (caddy, "Caddyfile", "/trial?x=1"),
        (caddy, "search/Caddyfile", "/tunes/?q=a%20b"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_a_proxy_passes_on_what_the_server_needs(
    start: Callable[..., object], name: str, path: str, tmp_path: Path
) -> None:
    def told(handler: BaseHTTPRequestHandler) -> bytes:
        return json.dumps(
            {"path": handler.path, **{key.lower(): each for key, each in handler.headers.items()}}
        ).encode()

    with serving(told) as upstream, start(DEPLOY / name, tmp_path, upstream) as address:  # type: ignore[attr-defined]
        forged = {"X-Forwarded-For": "192.0.2.7"}
        status, text = get(address + path, **forged)
        seen = json.loads(text)
        assert status == 200
        assert seen["path"] == path
        assert seen["host"] == address.removeprefix("https://")
        assert seen["x-forwarded-proto"] == "https"
        assert seen["x-forwarded-for"] == "127.0.0.1"
        if name.startswith("search"):
            assert json.loads(get(f"{address}/tunes")[1])["path"] == "/tunes/"
            assert get(f"{address}/other")[1] != text


def units(folder: Path) -> list[Path]:
    """The units of `deploy`, for a home in a folder."""
    found = []
    for file in sorted([*DEPLOY.glob("*.service"), *DEPLOY.glob("search/*.service"), *DEPLOY.glob("search/*.timer")]):
        text = re.sub(r"^User=roslin$", "User=root", file.read_text("utf-8"), flags=re.MULTILINE)
        (folder / file.name).write_text(text.replace(HOME, str(folder)), "utf-8")
        found.append(folder / file.name)
    return found


def test_systemd_reads_the_units(tmp_path: Path) -> None:
    home(tmp_path)
    files = units(tmp_path)
    assert len(files) == 4
    done = subprocess.run(
        [program("systemd-analyze"), "verify", "--man=no", *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "roslin-" in line]
    assert ours == []
    calendar = re.findall(r"^OnCalendar=(.*)$", (tmp_path / "roslin-update.timer").read_text("utf-8"), re.MULTILINE)
    subprocess.run([program("systemd-analyze"), "calendar", *calendar], check=True, capture_output=True)


# -- from an export to a public page -----------------------------------------------------------------------------------


def home(folder: Path) -> None:
    """The folder of the user `roslin`, with the program and the script of the page."""
    command = folder / "venv" / "bin" / "roslin"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m roslin "$@"\n')
    script = folder / "update.sh"
    script.write_text((DEPLOY / "search" / "update.sh").read_text("utf-8").replace(HOME, str(folder)), "utf-8")
    command.chmod(0o755)
    script.chmod(0o755)


def shown(language: str) -> list[str]:
    """The blocks of the page in a language, and the files that it includes."""
    text = PAGE.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_from_an_export_to_a_page_that_a_timer_updates(tmp_path: Path) -> None:
    included = re.findall(r"literalinclude\} \.\./\.\./deploy/search/(\S+)", PAGE.read_text("utf-8"))
    assert set(included) == {each.name for each in (DEPLOY / "search").iterdir()} - {"compose.yaml"}
    home(tmp_path)
    records = "".join(RECORD.format(number=number, letter="CDEFGAB"[number]) for number in range(5))
    (tmp_path / "export.xml").write_text(
        f'<collection xmlns="http://www.loc.gov/MARC21/slim">{records}</collection>', "utf-8"
    )

    # 1. The collection and the file about the site, as the page shows them.
    [commands] = [block for block in shown("sh") if "collection build" in block]
    subprocess.run(["sh", "-eu", "-c", commands.replace(HOME, str(tmp_path))], check=True, capture_output=True)
    [site] = shown("toml")
    (tmp_path / "site.toml").write_text(site, "utf-8")

    # 2. The server, as the unit starts it. 3. nginx with TLS, below a path.
    unit = (DEPLOY / "search" / "roslin-search.service").read_text("utf-8")
    started_by = re.search(rf"^ExecStart={HOME}/venv/bin/roslin serve (\S+) (.*)$", unit, re.MULTILINE)
    assert started_by
    options = [str(tmp_path / word) if word == "site.toml" else word for word in started_by[2].split()]
    with ExitStack() as stack:
        server = stack.enter_context(running(tmp_path / started_by[1], tmp_path, *options))
        address = stack.enter_context(nginx(DEPLOY / "search" / "nginx.conf", tmp_path, server.port))
        status, page = get(f"{address}/tunes/melodies/0-1.1.1")
        assert status == 200
        assert f'<link rel="canonical" href="{address}/tunes/melodies/0-1.1.1">' in page
        assert "Example Library</a>" in page
        assert '<a href="https://catalogue.example.org/records/0"' in page
        [sheet] = re.findall(r'href="(/tunes/static/style\.css[^"]*)"', page)
        assert get(f"{address}{sheet}")[0] == 200
        assert get(f"{address}/tunes/melodies/5-1.1.1")[0] == 404

        # 4. The timer's script: a record is new, and one is deleted.
        asked = []

        def answer(handler: BaseHTTPRequestHandler) -> bytes:
            asked.append(handler.path)
            return oai([5], token=None, deleted=[0]) if len(asked) == 1 else oai([], error="noRecordsMatch")

        with serving(answer) as port:
            script = tmp_path / "update.sh"
            text = script.read_text("utf-8").replace("https://oai.example.org/oai", f"http://127.0.0.1:{port}/oai")
            script.write_text(text, "utf-8")
            subprocess.run([str(script)], check=True, capture_output=True)
            assert "from=2026-11-01" in asked[0]
            day = (tmp_path / "updated").read_text().strip()
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
            subprocess.run([str(script)], check=True, capture_output=True)  # nothing has changed since
            assert f"from={day}" in asked[1]

        until(lambda: get(f"{address}/tunes/melodies/5-1.1.1")[0] == 200)
        until(lambda: get(f"{address}/tunes/melodies/0-1.1.1")[0] == 404)
        found = json.loads(get(f"{address}/tunes/api/search?q=c%20d%20e%20a")[1])
        assert found["results"][0]["id"] == "5-1.1.1"
        assert server.process.poll() is None
