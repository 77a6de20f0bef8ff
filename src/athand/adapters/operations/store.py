"""Operations on the store as a whole: its status, checks, indexing, backups and exports."""

from collections.abc import Sequence
from typing import Annotated, Any

from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import Operation, Progress, row
from athand.app import Athand
from athand.archive import ExportCounts, ImportCounts
from athand.parameters import FilePath, Help

OnlyCorpora = Annotated[Sequence[str] | None, Help("Only these corpora; default: all corpora")]
Force = Annotated[bool, Help("Replace the file if it exists")]


def reindex(ctx: AppContext, progress: Progress, corpora: OnlyCorpora = None) -> dict[str, int]:
    """Make every index anew from what is stored. Answers how much was indexed of each; nothing stored is changed."""
    known = ctx.athand.corpora
    sizes = {name: known[name].size() for name in corpora or known}
    done, made = 0, {}
    for name, size in sizes.items():
        made[name] = known[name].reindex(lambda count: progress(done + count, sum(sizes.values())))  # noqa: B023
        done += size
    return made


def backup_store(ctx: AppContext, path: FilePath, force: Force = False) -> str:
    """Copy the store to a file while it is in use, and verify the copy. Answers the path of the file."""
    return str(ctx.athand.back_up(path, force=force))


def export_store(ctx: AppContext, path: FilePath, progress: Progress, force: Force = False) -> ExportCounts:
    """Write everything of the user to one file that any store can import. Answers how much there is of what."""
    return ctx.athand.export(path, progress=lambda _, done, total: progress(done, total), force=force)


def import_store(ctx: AppContext, path: FilePath, progress: Progress) -> ImportCounts:
    """Read a file that export_store has written. What exists already stays as it is."""
    return ctx.athand.import_(path, progress=lambda _, done, total: progress(done, total))


def _admin(name: str, run: Any, title: str, path: str, **options: Any) -> Operation:
    return row(name, run, title, path=path, toolset="store", scope="admin", **options)


OPERATIONS = (
    row("status", Athand.status, "Status"),
    _admin("check_store", Athand.check, "Check the store", "check"),
    _admin("reindex", reindex, "Index everything anew", "reindex", kind="write", idempotent=True),
    _admin("backup_store", backup_store, "Back up the store", "back_up", kind="destructive"),
    _admin("export_store", export_store, "Export everything", "export", kind="destructive"),
    _admin("import_store", import_store, "Import everything", "import", kind="write", idempotent=True),
)
