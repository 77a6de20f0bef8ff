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

from athand.documents.extract import FileKind, UnreadableFile
from athand.documents.readers import sandbox_process
from athand.documents.readers.sandbox import ReaderSandbox

PAGE = FileKind("html")
START = sandbox_process._BOOTSTRAP


@pytest.fixture
def sandbox():
    with ReaderSandbox(seconds=PATIENCE) as sandbox:
        yield sandbox


def acting(monkeypatch, deed: str) -> None:
    """From now on, children do this instead of reading a file that begins with `BAD`."""
    patched(
        monkeypatch,
        "usual = worker._run_reader\n"
        f"def extract(kind, data):\n    if data.startswith(b'BAD'):\n        {deed}\n    return usual(kind, data)\n"
        "worker._run_reader = extract",
    )


def patched(monkeypatch, code: str) -> None:
    """From now on, children run this before they begin."""
    begin, end = START.rsplit("main()", 1)
    changed = f"import athand.documents.readers.sandbox_worker as worker\n{code}\nmain()"
    monkeypatch.setattr(sandbox_process, "_BOOTSTRAP", begin + changed + end)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that waits to be buried has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_nothing_starts_before_the_first_file_and_nothing_is_left_after_the_last():
    sandbox = ReaderSandbox()
    assert sandbox.worker_pid is None
    sandbox.read(PAGE, b"<p>text")
    pid = sandbox.worker_pid
    assert pid and psutil.pid_exists(pid)
    sandbox.close()
    sandbox.close()
    assert sandbox.worker_pid is None and not psutil.pid_exists(pid)


def test_one_process_reads_many_files(sandbox):
    sandbox.read(PAGE, b"<p>text")
    pid = sandbox.worker_pid
    for kind, data in SAMPLES.items():
        sandbox.read(FileKind(kind), data)
    assert sandbox.worker_pid == pid


def test_a_closed_sandbox_can_be_used_again(sandbox):
    sandbox.close()
    assert sandbox.read(PAGE, b"<p>again").text == "again"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT"])
def test_a_crash_costs_one_file_only(sandbox, monkeypatch, name):
    acting(monkeypatch, f"import os; os.kill(os.getpid(), {int(signal.Signals[name])})")
    assert sandbox.read(PAGE, b"<p>before").text == "before"
    with pytest.raises(UnreadableFile, match=rf"the reader crashed on it \({name}\)"):
        sandbox.read(PAGE, b"BAD")
    assert sandbox.read(PAGE, b"<p>after").text == "after"


def test_a_child_that_was_killed_while_idle_is_replaced(sandbox):
    sandbox.read(PAGE, b"<p>one")
    pid = sandbox.worker_pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: gone(pid))
    assert sandbox.read(PAGE, b"<p>two").text == "two"


@pytest.mark.parametrize(
    "deed", ["import time; time.sleep(600)", "while True: pass", "import re; re.match('(a*)*b', 'a' * 40)"]
)
def test_a_file_that_takes_too_long_is_given_up(sandbox, monkeypatch, deed):
    acting(monkeypatch, deed)
    sandbox.read(PAGE, b"<p>before")
    with monkeypatch.context() as impatient:
        impatient.setattr(sandbox, "_seconds", 0.2)
        with pytest.raises(UnreadableFile, match=r"took longer than 0\.2 s to read"):
            sandbox.read(PAGE, b"BAD")
    assert sandbox.worker_pid is None
    assert sandbox.read(PAGE, b"<p>after").text == "after"


def test_a_file_that_is_not_even_taken_in_is_given_up(monkeypatch):
    monkeypatch.setattr(sandbox_process, "_BOOTSTRAP", "import time; time.sleep(600)")
    with ReaderSandbox(seconds=0.2) as sandbox, pytest.raises(UnreadableFile, match="took longer"):
        sandbox.read(PAGE, b"x" * 10_000_000)


def test_a_file_that_needs_too_much_memory_is_given_up(sandbox, monkeypatch):
    acting(monkeypatch, "data = [bytes(10_000_000) for _ in range(100)]")
    with pytest.raises(UnreadableFile, match="needed more than 512 MB to read"):
        sandbox.read(PAGE, b"BAD")
    assert sandbox.read(PAGE, b"<p>after").text == "after"


def test_real_files_meet_the_limit_of_memory():
    data = notebook({"cell_type": "code", "source": ["x"] * 1_000_000})
    with ReaderSandbox(memory=5_000_000) as sandbox, pytest.raises(UnreadableFile, match="needed more than 5 MB"):
        sandbox.read(FileKind("notebook"), data)


def test_memory_that_one_file_took_is_there_for_the_next(sandbox, monkeypatch):
    acting(monkeypatch, "import sys; sys.kept = bytes(300_000_000); data = b'<p>big'")
    for _ in range(3):
        assert sandbox.read(PAGE, b"BAD").text == "big"


def test_the_child_cannot_write_files_and_its_prints_are_no_answers(sandbox, monkeypatch, tmp_path):
    deed = f"print('noise'); import os; os.write(1, b'noise'); open({str(tmp_path / 'file')!r}, 'wb', 0).write(b'x')"
    acting(monkeypatch, deed)
    with pytest.raises(UnreadableFile, match=r"made no sense of it \(OSError\)"):
        sandbox.read(PAGE, b"BAD")
    assert sandbox.read(PAGE, b"<p>after").text == "after"


@pytest.mark.parametrize(
    "answer",
    [
        "[" * 5000,
        "7",
        "{}",
        '{"text": 1, "title": "", "note": "", "markers": []}',
        '{"text": "", "markers": [[1]]}',
        "x",
        '{"text": "", "title": "", "note": "", "markers": [[1e999, "", "", 0]]}',
    ],
)
def test_a_child_that_was_taken_over_cannot_confuse_us(sandbox, monkeypatch, answer):
    patched(monkeypatch, f"worker._encode = lambda extract: {answer.encode()!r}")
    with pytest.raises(UnreadableFile, match="no sensible answer"):
        sandbox.read(PAGE, b"<p>x")


def test_an_answer_of_absurd_size_is_not_read(sandbox, monkeypatch):
    monkeypatch.setattr(sandbox_process, "_BOOTSTRAP", "import os, time; os.write(1, b'\\x7f' * 9); time.sleep(600)")
    with pytest.raises(UnreadableFile, match="crashed"):
        sandbox.read(PAGE, b"<p>x")


def test_a_child_that_cannot_start_is_a_reason_too(sandbox, monkeypatch):
    monkeypatch.setattr(sandbox_process, "_BOOTSTRAP", "raise SystemExit(3)")
    with pytest.raises(UnreadableFile, match="exit status 3"):
        sandbox.read(PAGE, b"<p>x")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(UnreadableFile, match="no process could be started"):
        sandbox.read(PAGE, b"<p>x")


def test_secrets_in_the_environment_are_not_handed_on(sandbox, monkeypatch):
    monkeypatch.setenv("ATHAND_SECRET", "hush")
    sandbox.read(PAGE, b"<p>x")
    assert "ATHAND_SECRET" not in psutil.Process(sandbox.worker_pid).environ()


def test_the_child_loads_nothing_it_does_not_need(sandbox, monkeypatch):
    acting(monkeypatch, "import sys; data = ' '.join(sys.modules).encode()")
    loaded = set(sandbox.read(PAGE, b"BAD").text.split())
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


def test_many_threads_share_a_sandbox(sandbox):
    texts = [f"text number {number}" for number in range(40)]
    found: dict[str, str] = {}

    def read(text: str) -> None:
        found[text] = sandbox.read(PAGE, f"<p>{text}".encode()).text

    threads = [threading.Thread(target=read, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {text: text for text in texts}


def test_closing_ends_a_child_that_is_just_being_started(sandbox, monkeypatch):
    acting(monkeypatch, "import time; time.sleep(600)")
    starts, goes_on = threading.Event(), threading.Event()

    def start():
        starts.set()
        assert goes_on.wait(PATIENCE)
        return sandbox_process.SandboxProcess()

    monkeypatch.setattr("athand.documents.readers.sandbox.SandboxProcess", start)
    with ThreadPoolExecutor(2) as threads:
        reading = threads.submit(sandbox.read, PAGE, b"BAD")
        assert starts.wait(PATIENCE)
        closing = threads.submit(sandbox.close)
        until(lambda: closing.running())
        goes_on.set()
        with pytest.raises(UnreadableFile, match="crashed"):
            reading.result(PATIENCE / 2)
        closing.result(PATIENCE)


PARENT = """
import time
from athand.documents.extract import FileKind
from athand.documents.readers import sandbox_process
from athand.documents.readers.sandbox import ReaderSandbox
sandbox_process._BOOTSTRAP = {start!r}
sandbox = ReaderSandbox(seconds=600)
sandbox.read(FileKind("html"), b"<p>x")
print(sandbox.worker_pid, flush=True)
if {busy}:
    sandbox.read(FileKind("html"), b"BAD")
time.sleep(600)
"""


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_the_child_does_not_outlive_its_parent(monkeypatch, busy):
    acting(monkeypatch, "while True: pass")
    command = [sys.executable, "-c", PARENT.format(start=sandbox_process._BOOTSTRAP, busy=busy)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        rested = sum(child.cpu_times()[:2])
        until(lambda: not busy or sum(child.cpu_times()[:2]) > rested + 0.1)
        parent.kill()
    until(lambda: gone(child.pid))


FORK = """
import os
from athand.documents.extract import FileKind
from athand.documents.readers.sandbox import ReaderSandbox
page = FileKind("html")
with ReaderSandbox() as sandbox:
    sandbox.read(page, b"<p>x")
    pid = sandbox.worker_pid
    fork = os.fork()
    text = sandbox.read(page, b"<p>parent" if fork else b"<p>fork").text
    print(text, sandbox.worker_pid == pid, flush=True)
    if fork:
        os.waitpid(fork, 0)
        assert sandbox.read(page, b"<p>again").text == "again"
"""


def test_a_fork_does_not_talk_to_the_child_of_its_parent():
    answer = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=PATIENCE)
    assert (sorted(answer.stdout.splitlines()), answer.stderr) == (["fork False", "parent True"], "")
