"""What programs get from a gateway that listens: modules that call it, and answers while others wait."""

import json
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
import uvicorn
from fastapi import FastAPI
from tests.adapters.test_tools_http import opened, waiting
from tests.tools.node import compile_strictly, node
from tests.waiting import PATIENCE, eventually

from athand.adapters.http.tools import tools_app


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    """The address of a gateway that is mounted into another app."""
    outer = FastAPI()
    with opened(tmp_path_factory.mktemp("stubs")) as athand:
        outer.mount("/api/gateway", tools_app(athand))
        server = uvicorn.Server(uvicorn.Config(outer, port=0, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run)
        thread.start()
        assert eventually(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/api/gateway"
        server.should_exit = True
        thread.join()


def fetched(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def posted(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return fetched(request)


def ran(program, folder, *command):
    done = subprocess.run([*command, program], cwd=folder, env={}, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_python_from_the_gateway_calls_through_it(gateway, tmp_path):
    (tmp_path / "tools.py").write_text(fetched(f"{gateway}/runtime/tools.py?filter=time__*,box__*"), "utf-8")
    program = """
        from tools import ToolError, box, time
        print(box.count_to(number=3)["result"])
        print(time.convert_time(source_timezone="UTC", time="12:00", target_timezone="UTC")["time_difference"])
        try:
            box.break_down()
        except ToolError as error:
            print(error)
    """
    (tmp_path / "run.py").write_text("\n".join(line[8:] for line in program.splitlines()), "utf-8")
    said = ran("run.py", tmp_path, sys.executable)
    assert said[:2] == ["[1, 2, 3]", "+0.0h"]
    assert "it is broken" in said[2]


def test_typescript_from_the_gateway_calls_through_it(gateway, tmp_path):
    (tmp_path / "tools.ts").write_text(fetched(f"{gateway}/runtime/tools.ts?filter=time__*,box__*"), "utf-8")
    program = """
        import { box, time } from "./tools.ts";
        console.log(JSON.stringify((await box.count_to({ number: 3 })).result));
        const noon = { source_timezone: "UTC", time: "12:00", target_timezone: "UTC" };
        console.log((await time.convert_time(noon)).time_difference);
        await box.break_down().catch((error: Error) => console.log(error.message));
    """
    (tmp_path / "run.mts").write_text(program, "utf-8")
    assert compile_strictly(tmp_path / "tools.ts") == ""
    said = ran("run.mts", tmp_path, node())
    assert said[:2] == ["[1,2,3]", "+0.0h"]
    assert "it is broken" in said[2]


def test_only_what_the_filter_names_is_in_a_module(gateway):
    module = fetched(f"{gateway}/runtime/tools.py?filter=time__get_*")
    assert repr(gateway) in module
    assert "def get_current_time" in module
    assert "def convert_time" not in module


def test_slow_calls_hold_up_no_search(gateway, tmp_path):
    morning = tmp_path / "morning"
    body = {"arguments": {"until": str(morning)}}
    with ThreadPoolExecutor(44) as pool:
        calls = [pool.submit(posted, f"{gateway}/tools/box__sleep", body) for _ in range(44)]
        try:
            assert eventually(lambda: waiting(morning) == 44)
            found = json.loads(fetched(f"{gateway}/search?query=convert_time"))
            assert found["hits"][0]["id"] == "time__convert_time"
            assert not any(call.done() for call in calls)
        finally:
            morning.touch()
        assert all("good morning" in call.result() for call in calls)
