"""Count sentences to look at by the style sheet: tools/words.py [FOLDER] [--list PART] [--draw COUNT] [--pages]."""

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.pofile import read_po

STYLE = re.compile(
    r"\b(says?|tells?|told|[Ww]hoever|[Nn]obody|[Ss]omebody|otherwise|anew|goes on|came out|stands?|lies|of its own"
    r"|near(er|est)? to|so (many|long|few)|, too\b)|(^|[.;:] )(What|Who) [a-z]+ [^?]*$|;"
)
GENERATED = re.compile(r"_build|_examples|reference/(python|commands|matchers|measures|study)")
CODE = re.compile(r"^ *(```|~~~).*?^ *\1$|<!--.*?-->|^---$.*?^---$|\]\([^)]*\)|^:\w.*?$", re.MULTILINE | re.DOTALL)
REFERENCE = ("__init__.py", "evaluate/__init__.py", "truth/__init__.py", "collection/filters/__init__.py")


def pages(root: Path) -> dict[str, str]:
    """The prose of every page written by hand: without code and the addresses of links."""
    found = [path for path in sorted((root / "docs").rglob("*.md")) if not GENERATED.search(path.as_posix())]
    return {str(path.relative_to(root)): CODE.sub("\n\n", path.read_text("utf-8")) for path in found}


def strings(node: ast.AST) -> str:
    """The strings of an expression, with … for values."""
    parts = [each for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return "…".join(str(each.value) for each in sorted(parts, key=lambda each: (each.lineno, each.col_offset)))


def code(root: Path) -> Iterator[tuple[str, str, str]]:
    """Help of commands, error messages, and docstrings: of the reference, and of other public names."""
    package = root / "src" / "roslin"
    listed = {
        strings(ast.parse((package / name).read_text("utf-8"))) for name in REFERENCE if (package / name).exists()
    }
    public = set("…".join(listed).split("…"))
    for path in sorted(package.rglob("*.py")):
        is_cli, inside = "cli" in path.parts, set[ast.AST]()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                yield "errors", path.name, " ".join(map(strings, node.exc.args))
            elif is_cli and isinstance(node, ast.keyword) and node.arg == "help":
                yield "help", path.name, strings(node.value)
            elif isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                is_public = node.name in public or node in inside
                inside |= set(node.body) if is_public and isinstance(node, ast.ClassDef) else set()
                command = is_cli and any("command(" in ast.unparse(each) for each in node.decorator_list)
                part = "help" if command else "reference" if is_public else "docstrings"
                yield part, path.name, re.sub(r">>>.*?(\n\n|\Z)", "\n\n", ast.get_docstring(node) or "", flags=re.S)


def sentences(root: Path) -> list[tuple[str, str, str]]:
    """Every sentence of at least two words, with its part and file."""
    texts = [
        ("docs", name, text) for name, text in {"README.md": (root / "README.md").read_text(), **pages(root)}.items()
    ]
    with next(root.glob("src/roslin/**/de.po")).open("rb") as lines:
        texts += [
            ("page", "de.po", "\n\n".join([each.id] if isinstance(each.id, str) else each.id))
            for each in read_po(lines)
        ]
    found = []
    for part, place, text in [*texts, *code(root)]:
        for block in re.split(r"\n\s*\n|\n *(?=[-*|#]|\d+\. )| \| ", CODE.sub("\n\n", text)):
            for sentence in re.split(r"(?<=[.?!]) +(?=[A-Z`*\[])", " ".join(block.split()).strip("|-*# ")):
                if len(re.findall(r"[A-Za-z]{2,}", sentence)) > 1:
                    found.append((part, place, sentence))
    return found


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[1])
    (
        options.add_argument("--list"),
        options.add_argument("--draw", type=int),
        options.add_argument("--pages", action="store_true"),
    )
    asked = options.parse_args()
    if asked.pages:
        words = {name: len(text.split()) for name, text in pages(asked.root).items()}
        print(
            *(f"{count}\t{name}" for name, count in words.items()),
            f"{sum(words.values())} on {len(words)} pages",
            sep="\n",
        )
    found = [] if asked.pages else sentences(asked.root)
    if asked.draw:
        print(
            *map("\t".join, random.Random(30).sample([e for e in found if e[0] != "docstrings"], asked.draw)), sep="\n"
        )
    for part in dict.fromkeys(part for part, _, _ in found if not asked.draw):
        hits = [each for each in found if each[0] == part and STYLE.search(each[2])]
        only = sum(not STYLE.search(each[2].replace(";", ",")) for each in hits)
        count = sum(each[0] == part for each in found)
        if asked.list is None:
            print(f"{part}\t{count} sentences\t{len(hits)} hits, {only} by a semicolon alone")
        elif asked.list == part:
            print(*("\t".join(each[1:]) for each in hits), sep="\n")
