"""Makes the index of a corpus anew in one transaction, for both engines: readers see the old index until then."""

from collections.abc import Callable

from athand.store.contract import Index, IndexSource, Store


def rebuild_in_one_transaction(store: Store, index: Index, source: IndexSource, report: Callable[[int], None]) -> None:
    """Clears the index and fills it; `report` hears how many passages are done."""
    done = 0
    with store.transaction() as transaction:
        transaction.clear(index)
        for passages in source.all_passages(transaction):
            transaction.put(index, passages, source.embed(passages, transaction))
            done += len(passages)
            report(done)
