"""The tasks of MiniWoB++ behind a local web server that starts episodes and learns of their rewards.

A task's address has no seed in it, as a real page has none: the server is told which episode comes next, and writes the
seed into the page it serves. The page tells it what is asked and what it gave for it, so the browser is left alone.
"""

import importlib.util
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

_REPORT = "/report"
_LONGEST_START_S = 20.0
_EPISODE = """<script>
(function () {
  function report(what, value) {
    var request = new XMLHttpRequest();
    request.open('GET', '%(report)s?page=' + location.pathname + '&' + what + '=' + encodeURIComponent(value), false);
    request.send();
  }
  var end = core.endEpisode;
  core.endEpisode = function () {
    var before = WOB_EPISODE_ID;
    end.apply(core, arguments);
    if (WOB_EPISODE_ID > before) report('reward', WOB_RAW_REWARD_GLOBAL);
  };
  window.addEventListener('load', function () {
    core.EPISODE_MAX_TIME = 600000;
    core.hideDisplay();
    Math.seedrandom('episode %(seed)d');  // '1' and '11' would be the same to it
    core.startEpisodeReal();
    report('asked', core.getUtterance());
  });
})();
</script></body>"""


class Pages:
    """Serves the tasks until it is closed; one episode at a time."""

    def __init__(self) -> None:
        self.seed = 0
        self.reward: float | None = None  # of this episode, once it has ended
        self._page = ""
        self._asked = ""
        self._has_begun = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self, directory=str(_folder())))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def prepare(self, task: str, seed: int) -> str:
        """The address of a task, whose next visit is the episode of this seed."""
        self.seed, self.reward, self._page = seed, None, f"/miniwob/{task}.html"
        self._has_begun.clear()
        return f"http://127.0.0.1:{self._server.server_address[1]}{self._page}"

    def asked(self) -> str:
        """What the episode asks for, as soon as it has begun."""
        if not self._has_begun.wait(_LONGEST_START_S):
            raise RuntimeError("The page did not begin its episode.")
        return self._asked

    def told(self, said: dict[str, list[str]]) -> None:
        """Take what a page reports; the first reward counts, and none of another task."""
        if said["page"] != [self._page]:
            return
        if "asked" in said:
            self._asked = said["asked"][0]
            self._has_begun.set()
        elif self.reward is None:
            self.reward = float(said["reward"][0])


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, pages: Pages, *arguments: Any, **options: Any) -> None:
        self._pages = pages
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == _REPORT:
            self._pages.told(parse_qs(address.query))
            self._answer(b"")
        elif address.path.endswith(".html"):
            page = Path(self.translate_path(self.path)).read_text("utf-8")
            episode = _EPISODE % {"report": _REPORT, "seed": self._pages.seed}
            self._answer(page.replace("</body>", episode).encode())
        else:
            super().do_GET()

    def _answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def _folder() -> Path:
    """Where the package has its pages; it is not imported, for it would want a browser of its own."""
    found = importlib.util.find_spec("miniwob")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("MiniWoB++ is not installed. Run: pip install miniwob")
    return Path(found.submodule_search_locations[0]) / "html"
