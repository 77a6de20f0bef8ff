import threading

from athand.bounded_cache import BoundedCache


def entries(cache, keys):
    return {key: cache.get(key) for key in keys if cache.get(key) is not None}


def test_what_was_put_is_found_and_replaced():
    cache = BoundedCache(2)
    cache.put("a", 1)
    cache.put("a", 2)
    assert cache.get("a") == 2
    assert cache.get("b") is None


def test_what_was_used_least_recently_is_forgotten_first():
    cache = BoundedCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert entries(cache, "abc") == {"a": 1, "c": 3}


def test_the_sizes_together_stay_within_their_limit():
    cache = BoundedCache(10, max_size=5, size_of=len)
    cache.put("a", "xx")
    cache.put("b", "xxx")
    cache.put("c", "x")
    assert entries(cache, "abc") == {"b": "xxx", "c": "x"}
    cache.put("b", "x")
    cache.put("d", "xxx")
    assert entries(cache, "bcd") == {"b": "x", "c": "x", "d": "xxx"}


def test_the_newest_value_stays_even_if_it_is_too_large():
    cache = BoundedCache(10, max_size=5, size_of=len)
    cache.put("a", "x")
    cache.put("b", "x" * 9)
    assert entries(cache, "ab") == {"b": "x" * 9}


def test_after_clearing_there_is_room_for_everything_again():
    cache = BoundedCache(10, max_size=3, size_of=len)
    cache.put("a", "xxx")
    cache.clear()
    cache.put("b", "xx")
    cache.put("c", "x")
    assert entries(cache, "abc") == {"b": "xx", "c": "x"}


def test_threads_share_it_without_losing_count():
    cache = BoundedCache(50, max_size=400, size_of=lambda value: value)

    def work(start):
        for at in range(2_000):
            cache.put((start + at) % 97, at % 11)
            cache.get(at % 97)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 50
