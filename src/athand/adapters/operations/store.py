"""Operations on the store as a whole: how it is, and its upkeep."""

from typing import Annotated

from athand.adapters.operations.context import AppContext
from athand.adapters.operations.model import Progress, operation
from athand.adapters.operations.parameters import Corpus, ServerPath
from athand.app import Athand
from athand.archive import Archived, Unarchived
from athand.parameters import Help
from athand.search import CORPORA
from athand.types import Status

Force = Annotated[bool, Help("Write over a file that is there")]


@operation("status", toolset="store")
def status(ctx: AppContext) -> Status:
    """What there is, how much of it, and anything that does not work."""
    return ctx.athand.status()


@operation("check", toolset="store", scope="admin", title="Check the store")
def check_store(ctx: AppContext) -> list[str]:
    """Read the whole store and name everything that is wrong with it; an empty list if nothing is."""
    return ctx.athand.check()


@operation("reindex", toolset="store", scope="admin", kind="write", title="Index everything anew", idempotent=True)
def reindex(
    ctx: AppContext,
    progress: Progress,
    corpora: Annotated[tuple[Corpus, ...] | None, Help("Only these; all without")] = None,
) -> dict[str, int]:
    """Make every index anew from what is stored, and tell how much there is; nothing stored is changed."""
    sizes = {name: _size(ctx.athand, name) for name in corpora or CORPORA}
    done, made = 0, {}
    for name, size in sizes.items():
        made[name] = getattr(ctx.athand, name).reindex(
            lambda count, before=done: progress(before + count, sum(sizes.values()))
        )
        done += size
    return made


@operation("back_up", toolset="store", scope="admin", kind="destructive", title="Back up the store")
def backup_store(ctx: AppContext, path: ServerPath, force: Force = False) -> str:
    """Copy the store to a file while it is in use, and verify the copy; the path of the file."""
    return str(ctx.athand.back_up(path, force=force))


@operation("export", toolset="store", scope="admin", kind="destructive", title="Export everything")
def export_store(ctx: AppContext, path: ServerPath, progress: Progress, force: Force = False) -> Archived:
    """Write all that is the user's own to one file that any store can read; how much there is of what."""
    return ctx.athand.export(path, progress=lambda _, done, total: progress(done, total), force=force)


@operation("import", toolset="store", scope="admin", kind="write", title="Import everything", idempotent=True)
def import_store(ctx: AppContext, path: ServerPath, progress: Progress) -> Unarchived:
    """Read what export_store has written; what is there already stays as it is."""
    return ctx.athand.import_(path, progress=lambda _, done, total: progress(done, total))


def _size(athand: Athand, name: str) -> int:
    corpus = getattr(athand, name)
    size: int = corpus.count_steps() if name == "flows" else sum(corpus.count().values())
    return size
