import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from makers import SAMPLES, notebook
from tests.waiting import PATIENCE, until

from athand.documents.extract import Kind, Unreadable
from athand.documents.readers import process
from athand.documents.readers.workshop import Workshop

PAGE = Kind("html")
START = process._START


@pytest.fixture
def workshop():
    with Workshop(seconds=PATIENCE) as workshop:
        yield workshop


def acting(monkeypatch, deed: str) -> None:
    """From now on, children do this instead of reading a file that begins with `BAD`."""
    patched(
        monkeypatch,
        "usual = child._extract\n"
        f"def extract(kind, data):\n    if data.startswith(b'BAD'):\n        {deed}\n    return usual(kind, data)\n"
        "child._extract = extract",
    )


def patched(monkeypatch, code: str) -> None:
    """From now on, children run this before they begin."""
    begin, end = START.rsplit("main()", 1)
    changed = f"import athand.documents.readers.child as child\n{code}\nmain()"
    monkeypatch.setattr(process, "_START", begin + changed + end)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that waits to be buried has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_nothing_starts_before_the_first_file_and_nothing_is_left_after_the_last():
    workshop = Workshop()
    assert workshop.child_pid is None
    workshop.read(PAGE, b"<p>text")
    pid = workshop.child_pid
    assert pid and psutil.pid_exists(pid)
    workshop.close()
    workshop.close()
    assert workshop.child_pid is None and not psutil.pid_exists(pid)


def test_one_process_reads_many_files(workshop):
    workshop.read(PAGE, b"<p>text")
    pid = workshop.child_pid
    for kind, data in SAMPLES.items():
        workshop.read(Kind(kind), data)
    assert workshop.child_pid == pid


def test_a_closed_workshop_can_be_used_again(workshop):
    workshop.close()
    assert workshop.read(PAGE, b"<p>again").text == "again"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_a_crash_costs_one_file_only(workshop, monkeypatch, name):
    acting(monkeypatch, f"import os; os.kill(os.getpid(), {int(signal.Signals[name])})")
    assert workshop.read(PAGE, b"<p>before").text == "before"
    with pytest.raises(Unreadable, match=rf"the reader crashed on it \({name}\)"):
        workshop.read(PAGE, b"BAD")
    assert workshop.read(PAGE, b"<p>after").text == "after"


def test_a_child_that_was_killed_while_idle_is_replaced(workshop):
    workshop.read(PAGE, b"<p>one")
    pid = workshop.child_pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: gone(pid))
    assert workshop.read(PAGE, b"<p>two").text == "two"


@pytest.mark.parametrize(
    "deed", ["import time; time.sleep(600)", "while True: pass", "import re; re.match('(a*)*b', 'a' * 40)"]
)
def test_a_file_that_takes_too_long_is_given_up(workshop, monkeypatch, deed):
    acting(monkeypatch, deed)
    workshop.read(PAGE, b"<p>before")
    with monkeypatch.context() as impatient:
        impatient.setattr(workshop, "_seconds", 0.2)
        with pytest.raises(Unreadable, match=r"took longer than 0\.2 s to read"):
            workshop.read(PAGE, b"BAD")
    assert workshop.child_pid is None
    assert workshop.read(PAGE, b"<p>after").text == "after"


def test_a_file_that_is_not_even_taken_in_is_given_up(monkeypatch):
    monkeypatch.setattr(process, "_START", "import time; time.sleep(600)")
    with Workshop(seconds=0.2) as workshop, pytest.raises(Unreadable, match="took longer"):
        workshop.read(PAGE, b"x" * 10_000_000)


def test_a_file_that_needs_too_much_memory_is_given_up(workshop, monkeypatch):
    acting(monkeypatch, "data = [bytes(10_000_000) for _ in range(100)]")
    with pytest.raises(Unreadable, match="needed more than 512 MB to read"):
        workshop.read(PAGE, b"BAD")
    assert workshop.read(PAGE, b"<p>after").text == "after"


def test_real_files_meet_the_limit_of_memory():
    data = notebook({"cell_type": "code", "source": ["x"] * 1_000_000})
    with Workshop(memory=5_000_000) as workshop, pytest.raises(Unreadable, match="needed more than 5 MB"):
        workshop.read(Kind("notebook"), data)


def test_memory_that_one_file_took_is_there_for_the_next(workshop, monkeypatch):
    acting(monkeypatch, "import sys; sys.kept = bytes(300_000_000); data = b'<p>big'")
    for _ in range(3):
        assert workshop.read(PAGE, b"BAD").text == "big"


def test_the_child_cannot_write_files_and_its_prints_are_no_answers(workshop, monkeypatch, tmp_path):
    deed = f"print('noise'); import os; os.write(1, b'noise'); open({str(tmp_path / 'file')!r}, 'wb', 0).write(b'x')"
    acting(monkeypatch, deed)
    with pytest.raises(Unreadable, match=r"made no sense of it \(OSError\)"):
        workshop.read(PAGE, b"BAD")
    assert workshop.read(PAGE, b"<p>after").text == "after"


@pytest.mark.parametrize(
    "answer",
    [
        "[" * 5000,
        "7",
        "{}",
        '{"text": 1, "title": "", "note": "", "marks": []}',
        '{"text": "", "marks": [[1]]}',
        "x",
        '{"text": "", "title": "", "note": "", "marks": [[1e999, "", "", 0]]}',
    ],
)
def test_a_child_that_was_taken_over_cannot_confuse_us(workshop, monkeypatch, answer):
    patched(monkeypatch, f"child._told = lambda extract: {answer.encode()!r}")
    with pytest.raises(Unreadable, match="no sensible answer"):
        workshop.read(PAGE, b"<p>x")


def test_an_answer_of_absurd_size_is_not_read(workshop, monkeypatch):
    monkeypatch.setattr(process, "_START", "import os, time; os.write(1, b'\\x7f' * 9); time.sleep(600)")
    with pytest.raises(Unreadable, match="crashed"):
        workshop.read(PAGE, b"<p>x")


def test_a_child_that_cannot_start_is_a_reason_too(workshop, monkeypatch):
    monkeypatch.setattr(process, "_START", "raise SystemExit(3)")
    with pytest.raises(Unreadable, match="exit status 3"):
        workshop.read(PAGE, b"<p>x")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Unreadable, match="no process could be started"):
        workshop.read(PAGE, b"<p>x")


def test_secrets_in_the_environment_are_not_handed_on(workshop, monkeypatch):
    monkeypatch.setenv("ATHAND_SECRET", "hush")
    workshop.read(PAGE, b"<p>x")
    assert "ATHAND_SECRET" not in psutil.Process(workshop.child_pid).environ()


def test_the_child_loads_nothing_it_does_not_need(workshop, monkeypatch):
    acting(monkeypatch, "import sys; data = ' '.join(sys.modules).encode()")
    loaded = set(workshop.read(PAGE, b"BAD").text.split())
    assert not loaded & {
        "numpy",
        "apsw",
        "click",
        "rich",
        "tokenizers",
        "pypdfium2",
        "charset_normalizer",
        "athand.app",
    }


def test_many_threads_share_a_workshop(workshop):
    texts = [f"text number {number}" for number in range(40)]
    found: dict[str, str] = {}

    def read(text: str) -> None:
        found[text] = workshop.read(PAGE, f"<p>{text}".encode()).text

    threads = [threading.Thread(target=read, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {text: text for text in texts}


def test_closing_ends_a_child_that_is_just_being_started(workshop, monkeypatch):
    acting(monkeypatch, "import time; time.sleep(600)")
    starts, goes_on = threading.Event(), threading.Event()

    def start():
        starts.set()
        assert goes_on.wait(PATIENCE)
        return process.Child()

    monkeypatch.setattr("athand.documents.readers.workshop.Child", start)
    with ThreadPoolExecutor(2) as threads:
        reading = threads.submit(workshop.read, PAGE, b"BAD")
        assert starts.wait(PATIENCE)
        closing = threads.submit(workshop.close)
        until(lambda: closing.running())
        goes_on.set()
        with pytest.raises(Unreadable, match="crashed"):
            reading.result(PATIENCE / 2)
        closing.result(PATIENCE)


PARENT = """
import time
from athand.documents.extract import Kind
from athand.documents.readers import process
from athand.documents.readers.workshop import Workshop
process._START = {start!r}
workshop = Workshop(seconds=600)
workshop.read(Kind("html"), b"<p>x")
print(workshop.child_pid, flush=True)
if {busy}:
    workshop.read(Kind("html"), b"BAD")
time.sleep(600)
"""


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_the_child_does_not_outlive_its_parent(monkeypatch, busy):
    acting(monkeypatch, "while True: pass")
    command = [sys.executable, "-c", PARENT.format(start=process._START, busy=busy)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        rested = sum(child.cpu_times()[:2])
        until(lambda: not busy or sum(child.cpu_times()[:2]) > rested + 0.1)
        parent.kill()
    until(lambda: gone(child.pid))


FORK = """
import os
from athand.documents.extract import Kind
from athand.documents.readers.workshop import Workshop
page = Kind("html")
with Workshop() as workshop:
    workshop.read(page, b"<p>x")
    pid = workshop.child_pid
    fork = os.fork()
    text = workshop.read(page, b"<p>parent" if fork else b"<p>fork").text
    print(text, workshop.child_pid == pid, flush=True)
    if fork:
        os.waitpid(fork, 0)
        assert workshop.read(page, b"<p>again").text == "again"
"""


def test_a_fork_does_not_talk_to_the_child_of_its_parent():
    answer = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=PATIENCE)
    assert (sorted(answer.stdout.splitlines()), answer.stderr) == (["fork False", "parent True"], "")
