"""The frame of every page: one file that needs nothing but itself.

The page's own rules (its Content-Security-Policy) forbid the browser to fetch anything; a page without a script of its
own runs none. Colours are names here (`--ink`, `--soft`, ...), light and dark, so that all pages look alike.
"""

from __future__ import annotations

from html import escape

__all__ = ["framed"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5b6570; --line: #d9dee3; --paper: #fdfdfb; --card: #ffffff;
  --note: #1f5f8b; --accent: #b3401f; --found: #e3f1e6; --width: 60rem; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #a3adb7; --line: #3a424a; --paper: #15191d;
  --card: #1d2328; --note: #7db8de; --accent: #f0a06a; --found: #203a29; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 Georgia, "Times New Roman", serif; }
main { max-width: var(--width); margin: 0 auto; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
code { font: .82rem/1.4 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --card: #fff;
  --note: #000; --found: #eee; } body { background: none; padding: 0; } }
"""


def framed(heading: str, body: str, style: str = "", scripts: str = "") -> str:
    """A whole page: its heading, under it the body; `style` comes after that of all pages.

    `scripts` are elements that stand at its end.
    """
    allowed = "; script-src 'unsafe-inline'" if scripts else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'{allowed}">
<title>{escape(heading)}</title>
<style>{_STYLE}{style}</style>
</head>
<body>
<main>
<h1>{escape(heading)}</h1>
{body}
</main>
{scripts}
</body>
</html>
"""
