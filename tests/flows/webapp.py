"""The test pages behind a real web server: files, one route that is slow, and addresses of a single-page app."""

import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGES = Path(__file__).parent / "app"


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/slow/"):
            time.sleep(int(self.path.removeprefix("/slow/")) / 1000)
            self._answer(b"Balance: 13 coins")
        elif self.path.startswith("/desk/"):
            self._answer((PAGES / "desk.html").read_bytes())
        else:
            super().do_GET()

    def _answer(self, content):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # on a busy machine many wait

    def handle_error(self, *where):
        if not isinstance(sys.exception(), ConnectionError):  # a page that is closed waits for no answer
            super().handle_error(*where)


class WebApp:
    """Serves the pages until it is closed."""

    def __init__(self, folder=PAGES):
        self._server = Server(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
