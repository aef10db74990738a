"""Sentences to look at by the style sheet: counted (words.py .) or listed (words.py . PART); also: pages, drawSEED."""

import ast
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.pofile import read_po

STYLE = re.compile(
    r"\b(says?|tells?|told|[Ww]hoever|[Nn]obody|[Ss]omebody|otherwise|anew|goes on|came out|stands?|lies|of its own"
    r"|near(er|est)? to|so (many|long|few)|, too\b)|(^|[.;:] )(What|Who) [a-z]+ [^?]*$|;"
)
GENERATED = re.compile(r"_build|_examples|reference/(python|commands|matchers|measures|study)")
CODE = re.compile(
    r"^ *(```|~~~).*?^ *\1$|<!--.*?-->|^---$.*?^---$|(?<=\])\([^)]*\)|^:\w[^\n]*$", re.MULTILINE | re.DOTALL
)


def pages(root: Path) -> dict[str, str]:
    """The prose of every page written by hand: without code and the addresses of links."""
    found = [path for path in sorted((root / "docs").rglob("*.md")) if not GENERATED.search(path.as_posix())]
    return {str(path.relative_to(root)): CODE.sub(" ", path.read_text("utf-8")) for path in found}


def _strings(node: ast.AST) -> str:
    parts = [each for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return "…".join(str(each.value) for each in sorted(parts, key=lambda each: (each.lineno, each.col_offset)))


def code(root: Path) -> Iterator[tuple[str, str, str]]:
    """Help of commands, error messages, and docstrings: of the reference, and of other public names."""
    package = root / "src" / "roslin"
    public = re.findall(r'"(\w+)"', "".join(path.read_text("utf-8") for path in package.rglob("__init__.py")))
    for path in sorted(package.rglob("*.py")):
        is_cli, inside = "cli" in path.parts, set[ast.AST]()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                yield "errors", path.name, " ".join(map(_strings, node.exc.args))
            elif is_cli and isinstance(node, ast.keyword) and node.arg == "help":
                yield "help", path.name, _strings(node.value)
            elif isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                is_public = node.name in public or node in inside
                inside |= set(node.body) if is_public and isinstance(node, ast.ClassDef) else set()
                command = is_cli and any("command(" in ast.unparse(each) for each in node.decorator_list)
                part = "help" if command else "reference" if is_public else "docstrings"
                yield part, path.name, re.sub(r">>>.*?(\n\n|\Z)", "\n\n", ast.get_docstring(node) or "", flags=re.S)


def sentences(root: Path) -> Iterator[tuple[str, str, str]]:
    """Every sentence of at least two words, with its part and file."""
    texts = [("docs", name, text) for name, text in pages(root).items()]
    with next(root.glob("src/roslin/**/de.po")).open("rb") as lines:
        ids = [text for each in read_po(lines) for text in ((each.id,) if isinstance(each.id, str) else each.id)]
    texts += [
        ("docs", "README.md", (root / "README.md").read_text("utf-8")),
        *(("page", "de.po", text) for text in ids),
    ]
    for part, place, text in [*texts, *code(root)]:
        for block in re.split(r"\n\s*\n|\n *(?=[-*|#]|\d+\. )| \| ", CODE.sub(" ", text)):
            for sentence in re.split(r"(?<=[.?!]) +(?=[A-Z`*\[])", " ".join(block.split()).strip("|-*# ")):
                if len(re.findall(r"[A-Za-z]{2,}", sentence)) > 1:
                    yield part, place, sentence


if __name__ == "__main__":
    root, asked = Path(sys.argv[1]), "".join(sys.argv[2:])
    found = list(sentences(root))
    if asked == "pages":
        print(*(f"{len(text.split())} {name}" for name, text in pages(root).items()), sep="\n")
    if asked.startswith("draw"):
        seen = [each for each in found if each[0] != "docstrings"]
        print(*map("\t".join, random.Random(int(asked[4:])).sample(seen, 200)), sep="\n")
    for part in {part: 0 for part, _, _ in found if asked in ("", part)}:
        hits = [each for each in found if each[0] == part and STYLE.search(each[2])]
        only = sum(not STYLE.search(each[2].replace(";", ",")) for each in hits)
        print(f"{part}: {sum(each[0] == part for each in found)} sentences, {len(hits)} hits, {only} by a semicolon")
        print(*("\t".join(each[1:]) for each in hits if asked), sep="\n")
