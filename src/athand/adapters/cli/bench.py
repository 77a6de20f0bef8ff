"""`athand bench`: measures quality and speed of the search, on your own data."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from athand.adapters.cli.session import Session, command

if TYPE_CHECKING:
    from athand.evaluation import Report

_top = click.Group()
_BATCH = 1000


@command(_top, "bench")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False)
@click.option("--queries", default=200, show_default=True, help="Number of searches to time without a FOLDER.")
def bench(session: Session, folder: Path | None, queries: int) -> None:
    """Measure the search.

    With FOLDER, a labelled set (items, questions, right answers) is indexed in memory and searched: nDCG, recall and
    hit rate by category. Without FOLDER, your own store is searched for memories in it, and the times are shown.
    """
    report = _measure_quality(session, folder) if folder else _measure_speed(session, queries)
    if session.as_json:
        session.show(report.to_dict())
    else:
        _print_report(session, report)


def _measure_quality(session: Session, folder: Path) -> "Report":
    from rich.progress import track

    from athand.app import Athand
    from athand.evaluation import Question, evaluate, load_set

    labelled = load_set(folder)
    with Athand(":memory:", model=session.model) as athand:
        starts = range(0, len(labelled.items), _BATCH)
        for start in track(starts, "Indexing", console=session.console(stderr=True), transient=True):
            athand.memories.add_many(labelled.items[start : start + _BATCH])

        def search(question: Question, limit: int) -> list[str]:
            return [hit.id for hit in athand.search(question.text, project=question.project, limit=limit)]

        return evaluate(labelled.questions, search)


def _measure_speed(session: Session, queries: int) -> "Report":
    """Search the store for the first words of its own memories."""
    from athand.errors import NotFound
    from athand.evaluation import Question, evaluate
    from athand.inputs import check_limit

    with session.open() as athand:
        memories = athand.memories.list(limit=check_limit(queries))
        if not memories:
            raise NotFound('The store is empty: nothing to search. Begin with: athand memory add "…"')
        questions = [Question(each.id, " ".join(each.content.split()[:6]), {each.id: 1}) for each in memories]
        return evaluate(questions, lambda asked, limit: [hit.id for hit in athand.search(asked.text, limit=limit)])


def _print_report(session: Session, report: "Report") -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("questions")
    for name in report.measures:
        table.add_column(name, justify="right")
    rows = {**(report.by_category if len(report.by_category) > 1 else {}), f"all {report.questions:,}": report.measures}
    for name, measures in rows.items():
        table.add_row(name, *(f"{value:.3f}" for value in measures.values()))
    console = session.console()
    console.print(table)
    console.print(" · ".join(f"{name} {value:.1f} ms" for name, value in report.milliseconds.items()), style="dim")
