"""roslin concordances: find, report, review, records, export and marc."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from roslin.cli.options import DaskOption, DefaultCommandGroup, ThreadsOption, command_group, needs_extra, work_of
from roslin.cli.output import (
    FormatOption,
    OutputFormat,
    print_rows,
    print_table,
    print_tables,
    progress_bar,
    remark,
    resumable,
)
from roslin.display.text import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from roslin.api import Collection
    from roslin.concordances.certainty import Certainty
    from roslin.concordances.concordance import Concordances
    from roslin.concordances.review import Review


class _Group(DefaultCommandGroup):
    default = "find"


app = command_group(
    "Find the sources of a collection that have the same tune.\n\n"
    "Example: roslin concordances mine.roslin\n\n"
    "You can omit the word find. For its options, see roslin concordances find --help.",
    _Group,
)


def _is_collection(path: Path) -> Path:
    if path.suffix == ".concordances":
        raise typer.BadParameter(
            f"this is a concordances folder; give the collection instead, such as {path.with_suffix('.roslin')}"
        )
    return path


CollectionPath = Annotated[Path, Argument(help="The collection, NAME.roslin.", callback=_is_collection)]
FolderOption = Annotated[
    Path | None, Option("--output", "-o", help="The folder for the results. Default: NAME.concordances.")
]
FoundOption = Annotated[Path | None, Option("--folder", help="Folder of results. Default: NAME.concordances.")]
_LEVEL = "same"
LevelOption = Annotated[
    str | None,
    Option(
        "--level",
        help=f"Level of certainty: same, probably, perhaps, or a probability such as 0.95. Default: {_LEVEL}.",
    ),
]
_RECORDS_SHOWN = ("first", "second", "kind", "incipits", "probability", "verdict", "first_composer", "second_composer")


@app.command("find")
def find_command(
    collection: CollectionPath,
    level: LevelOption = None,
    fast: Annotated[
        bool, Option("--fast", help="Compare only melodies that share something rare. Finds nearly all pairs.")
    ] = False,
    only: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="Only pairs with a melody of this file. Can be repeated."),
    ] = None,
    since: Annotated[
        Path | None, Option(help="A folder of earlier results: only new melodies are compared with all.")
    ] = None,
    matcher: Annotated[str | None, Option(help="Another matcher, with a --radius instead of a --level.")] = None,
    radius: Annotated[
        float | None, Option(min=0.0, help="Largest distance of a pair. Default matcher: roslin.")
    ] = None,
    threads: ThreadsOption = 2,
    dask: DaskOption = None,
    output: FolderOption = None,
    most: Annotated[int, Option("-k", min=1, help="Number of groups to print.")] = 20,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Compare all melodies, and group those with the same tune. If interrupted, run it again to resume.

    Example: roslin concordances find mine.roslin --level probably -o mine.concordances
    """
    from roslin.api import Collection
    from roslin.concordances.concordance import concordances_folder, earlier_pairs, find_concordances, kept_concordances

    wanted, folder = _certainty(level, matcher, radius), output or concordances_folder(collection)
    working = partial(work_of, dask, threads, kept=folder)
    working()  # options that make no sense are refused even where nothing has to be done
    earlier = earlier_pairs(since) if since else None
    with Collection(collection) as opened:
        new = _numbers(opened, only) if only else None
        found = None if only or since else kept_concordances(opened, wanted, folder, exact=not fast)
        if found is not None:
            remark(
                f"{folder} has these results, and the collection has not changed since (to compare again, delete it)"
            )
        else:
            if not (only or since):
                _tell_of_earlier(folder, wanted)
            with (
                resumable(folder),
                progress_bar("Concordances", total=1.0) as progress,
                working(progress=progress) as work,
            ):
                found = find_concordances(opened, wanted, work, folder, exact=not fast, new=new, earlier=earlier)
        _show(found, folder, most, format)
    if fast:
        remark("fast: melodies that share nothing rare were not compared (omit --fast to compare all)")


def _certainty(level: str | None, matcher: str | None, radius: float | None) -> Certainty:
    from roslin.concordances.certainty import Certainty
    from roslin.errors import ArgumentError
    from roslin.matchers import DEFAULT_MATCHER
    from roslin.matchers import matcher as named

    if radius is None and matcher is None:
        return Certainty.of(level or _LEVEL)
    if level is not None:
        raise ArgumentError("use either --level (a probability) or --radius (a distance), not both")
    if radius is None:
        raise ArgumentError(f"{matcher} needs a --radius, the largest distance of a pair, such as --radius 0.1")
    return Certainty(radius, repr(named(matcher or DEFAULT_MATCHER)))


def _tell_of_earlier(folder: Path, wanted: Certainty) -> None:
    from roslin.concordances.concordance import earlier_pairs
    from roslin.errors import RoslinError

    try:
        earlier_pairs(folder).check(wanted)
    except RoslinError:
        return
    remark(f"{folder} has earlier results; to compare only new melodies, stop this command and add --since {folder}")


def _show(found: Concordances, folder: Path, most: int, format: OutputFormat) -> None:
    from roslin.concordances.concordance import PEOPLE_READ, groups_table, kinds_table
    from roslin.report.concordances import left_out_words

    count, pairs = len(found.groups), len(found.pairs)
    level = found.certainty.level_words
    remark(f"{counted(pairs, 'pair')} in {counted(count, 'group')}, each pair with {level}; saved in {folder}")
    if pairs and not found.certainty.matcher:
        remark(f"by these probabilities, about {found.doubts.sum():,.0f} of {pairs:,} pairs are wrong")
    remark(*left_out_words(found))
    groups = groups_table(found, most)
    if format is not OutputFormat.table:
        print_table(groups, format)
        return
    columns = [name for name in PEOPLE_READ if name != "probable" or not found.certainty.matcher]
    print_tables([kinds_table(found), groups.only(*columns)], format)
    if count > most:
        remark(f"the first {counted(most, 'group')} of {count:,}; -k shows more")
    if count:
        remark(f"to see them: roslin concordances report {found.store.path}, or roslin serve {found.store.path}")


def _numbers(opened: Collection, paths: list[Path]) -> npt.NDArray[np.int64]:
    from roslin.errors import ArgumentError
    from roslin.notation import load

    ids = [melody.id for path in paths for melody in load(path)]
    known = [id for id in ids if id and id in opened]
    if not known:
        raise ArgumentError(
            f"no melody of {', '.join(map(str, paths))} is in {opened.path}; add them first: roslin collection add"
        )
    if len(known) < len(ids):
        left = len(ids) - len(known)
        remark(f"{left} of {len(ids)} melodies {'is' if left == 1 else 'are'} not in the collection and left out")
    return opened.numbers(known)


@app.command("report")
def report_command(
    collection: CollectionPath,
    folder: FoundOption = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="A page (NAME.html) or a folder of pages. Default: FOLDER/report.")
    ] = None,
    link: Annotated[str, Option(help="Address pattern of a source, with {id} or {record}, for links.")] = "",
) -> None:
    """Write a report of every group: aligned notation with marked differences, and the data of the sources.

    Example: roslin concordances report mine.roslin -o concordances.html
    """
    from roslin.api import Collection
    from roslin.concordances.concordance import Concordances, concordances_folder
    from roslin.report.concordances import source_link, write_report

    kept = folder or concordances_folder(collection)
    linked = source_link(link) if link else None
    with Collection(collection) as opened:
        found = Concordances.read(kept, opened)
        with progress_bar("Report", total=1.0) as progress:
            page = write_report(found, output or kept / "report", link=linked, progress=progress)
    remark(f"open {page}")


# -- decisions of people, and what is written with them ---------------------------------------------------------------


review_app = command_group(
    "List and merge decisions about concordances.\n\nExample: roslin concordances review list mine.roslin"
)


@review_app.command("list")
def list_command(
    review: Annotated[Path, Argument(help="A collection, or a review file.")], format: FormatOption = OutputFormat.table
) -> None:
    """Print the state of every pair with a decision.

    Example: roslin concordances review list mine.roslin --format tsv
    """
    from roslin.concordances.review import existing_review, opened_review

    existing_review(review)
    with opened_review(review) as opened:
        table, notes = opened.to_table(), opened.notes
    remark(*notes)
    print_table(table, format)


@review_app.command("merge")
def merge_command(
    reviews: Annotated[list[Path], Argument(help="Review files, or collections.")],
    output: Annotated[Path, Option("--output", "-o", help="A file or a collection. Its own decisions stay.")],
) -> None:
    """Merge the decisions of several reviewers into one file. Nothing is lost, and the order does not matter.

    Example: roslin concordances review merge anna.jsonl ben.jsonl -o mine.roslin
    """
    from roslin.concordances.review import merge_into

    done = merge_into(reviews, output)
    remark(*done.notes)
    decisions, pairs = counted(done.decisions, "decision"), counted(done.pairs, "pair")
    remark(f"{done.path}: {decisions} about {pairs}, {done.added} of them new")
    remark(*(f"disputed: {first} and {second}" for first, second in done.disputed))


_Ids = Annotated[list[str] | None, Argument(metavar="ID ID", help="The ids of the two melodies.")]
_Table = Annotated[
    Path | None, Option("--from", help="CSV file with the columns first, second, and optionally verdict, author, note.")
]
_Author = Annotated[str, Option("--author", help="Your name.", envvar="ROSLIN_AUTHOR")]
_Note = Annotated[str, Option("--note", help="A note about the decision.")]


@review_app.command("accept")
def accept_command(
    collection: CollectionPath, ids: _Ids = None, author: _Author = "", note: _Note = "", table: _Table = None
) -> None:
    """Accept two melodies as the same tune, or import the decisions of a table.

    Rows of the table with a verdict keep it, and rows without one are accepted.

    Example: roslin concordances review accept mine.roslin 840010001-1.1.1 840010002-1.1.1 --author Anna
    """
    _decide(collection, ids or [], "accept", author, note, table)


@review_app.command("reject")
def reject_command(
    collection: CollectionPath, ids: _Ids = None, author: _Author = "", note: _Note = "", table: _Table = None
) -> None:
    """Reject two melodies as the same tune, or import the decisions of a table.

    Example: roslin concordances review reject mine.roslin 840010001-1.1.1 840010002-1.1.1 --author Anna
    """
    _decide(collection, ids or [], "reject", author, note, table)


def _decide(collection: Path, ids: list[str], verdict: str, author: str, note: str, table: Path | None) -> None:
    from roslin.collection.store import Store
    from roslin.concordances.review import ListedDecision, Review, listed_decisions

    if len(ids) != (0 if table else 2):
        raise typer.BadParameter("name two melodies by their ids, or a table with --from")
    rows = listed_decisions(table) if table else [ListedDecision(*ids)]
    if not author and not all(row.author for row in rows):
        raise typer.BadParameter("--author is missing; name the person who decides")
    with Store(collection) as store:
        store.numbers([id for row in rows for id in (row.first, row.second)])  # refuses an unknown one
        made = Review.of(store).decide_listed(
            ListedDecision(row.first, row.second, row.verdict or verdict, row.author or author, row.note or note)
            for row in rows
        )
    remark(f"{counted(made, 'decision')} stored in {collection}" + f" ({len(rows) - made} known)" * (made < len(rows)))


@app.command("records")
def records_command(
    collection: CollectionPath, folder: FoundOption = None, format: FormatOption = OutputFormat.table
) -> None:
    """Print the pairs of records that have a tune in common, the most certain first.

    Example: roslin concordances records mine.roslin --format tsv
    """
    from roslin.concordances.exchange import RECORD_COLUMNS, record_rows

    with _reviewed(collection, folder) as (found, review):
        rows = record_rows(found, review)
    shown = _RECORDS_SHOWN if format is OutputFormat.table else tuple(RECORD_COLUMNS)
    print_rows([{name: row[name] for name in shown} for row in rows], shown, format)


@app.command("export")
def export_command(
    what: Annotated[str, Argument(help="pairs, groups, records (CSV), graphml or truth (for roslin evaluate).")],
    collection: CollectionPath,
    output: Annotated[Path, Option("--output", "-o", help="The file to write.")],
    folder: FoundOption = None,
    for_excel: Annotated[
        bool, Option("--excel", help="Begin a CSV file with a byte order mark, so that Excel shows all letters.")
    ] = False,
) -> None:
    """Write pairs, groups, pairs of records, a graph or a truth for other programs, with the decisions of reviewers.

    Example: roslin concordances export pairs mine.roslin -o pairs.csv
    """
    from roslin.concordances.exchange import export

    with _reviewed(collection, folder) as (found, review):
        left_out = export(what, found, review, output, for_excel=for_excel)
    _tell(left_out)
    remark(f"written: {output}")


@app.command("marc")
def marc_command(
    collection: CollectionPath,
    output: Annotated[Path | None, Option("--output", "-o", help="The file to write, with all records in it.")] = None,
    per_record: Annotated[
        Path | None, Option(metavar="FOLDER", help="A new folder, with RECORD.xml for each record.")
    ] = None,
    note: Annotated[
        str,
        Option(help="Text of $n: short, full, or a template such as '{source}|{incipits}'. Default: short."),
    ] = "short",
    language: Annotated[str, Option(help="Language of the texts: en, de, fr or it.")] = "en",
    source: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="MARCXML file of the records. Links that they already have are not repeated. Can be repeated.",
        ),
    ] = None,
    folder: FoundOption = None,
) -> None:
    """Write a MARC field 787 for each accepted pair of records.

    The file has the number of each record and its new fields.

    Example: roslin concordances marc mine.roslin --source export.xml.gz -o patches.xml
    """
    from roslin.concordances.marc import existing_links, patches_of, write_collection, write_patches

    if output is None and per_record is None:
        raise typer.BadParameter("name a file with --output, or a folder with --per-record")
    existing = existing_links(source) if source else None
    with _reviewed(collection, folder) as (found, review), _words_of(language):
        patches = patches_of(found, review, existing, note)
    if output is not None:
        write_collection(patches, output)
    if per_record is not None:
        write_patches(patches, per_record)
    _tell(patches.left_out)
    if not patches.patches:
        remark(f"no accepted pair needs a new field (to decide about pairs: roslin serve {collection})")
    remark(
        f"{counted(patches.fields, 'field')} for {counted(len(patches.patches), 'record')} in {output or per_record}"
    )


@contextmanager
def _words_of(language: str) -> Iterator[None]:
    from roslin.errors import UnknownNameError

    if language == "en":
        yield
        return
    with needs_extra("texts in other languages", "web"):
        from roslin.web.language import LANGUAGES, Translation
    from roslin.display.words import in_words

    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    with in_words(Translation(language)):
        yield


@contextmanager
def _reviewed(collection: Path, folder: Path | None) -> Iterator[tuple[Concordances, Review]]:
    from roslin.api import Collection
    from roslin.concordances.concordance import Concordances, concordances_folder
    from roslin.concordances.review import Review

    with Collection(collection) as opened:
        review = Review.of(opened)
        remark(*review.notes)
        yield Concordances.read(folder or concordances_folder(collection), opened), review


def _tell(left_out: dict[str, int]) -> None:
    remark(*(f"left out: {number} ({reason})" for reason, number in sorted(left_out.items())))


app.add_typer(review_app, name="review")
