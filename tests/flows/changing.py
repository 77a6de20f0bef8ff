"""A web app that can change between two visits: a small shop with a sign-in."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.flows.webapp import Server

LOGIN = """
<h1>Sign in</h1>
<form onsubmit="location.href = '/shop'; return false">
  <label>User name <input data-testid="username" name="username"></label>
  <label>Password <input data-testid="password" type="password"></label>
  <button data-testid="sign-in">Log in</button>
  <button type="button" data-testid="guest">Continue as guest</button>
</form>
"""
SHOP = """
<h1>Shop</h1>
<label>Size <select data-testid="size"><option value="s">Small</option><option value="l">Large</option></select></label>
<label>Note <input id="note"></label>
<button data-testid="add-to-cart" onclick="cart.showModal()">Add to cart</button>
<button data-testid="add-to-wishlist">Add to wishlist</button>
<a href="/help" target="_blank">Help</a>
<dialog id="cart"><h2>Your cart</h2>
  <button data-testid="checkout" onclick="location.href = '/orders/' + (1e6 + Date.now() % 1e6)">Check out</button>
</dialog>
"""
ORDER = '<h1>Order placed</h1><p data-testid="thanks">Thank you</p>'
HELP = '<title>Help</title><h1>Help</h1><button data-testid="ask" onclick="this.textContent = \'Asked\'">Ask</button>'


class Site:
    """The pages by path, as they are served from now on."""

    def __init__(self):
        self.url = ""
        self.restore()

    def restore(self):
        """As it was at first."""
        self.pages = {"/": LOGIN, "/shop": SHOP, "/help": HELP, "/orders": ORDER}

    def change(self, path, *replacements):
        """Redesign a page: every text with what is to stand there instead."""
        for old, new in replacements:
            assert old in self.pages[path], f"{old} is not on {path}"
            self.pages[path] = self.pages[path].replace(old, new)

    def page(self, path):
        found = self.pages.get(path) or self.pages.get("/" + path.split("/")[1])
        return f"<!doctype html><html lang=en><title>App</title><body>{found}" if found else None


@contextmanager
def served():
    """The site on a port of its own."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            content = site.page(self.path.partition("?")[0])
            self.send_response(200 if content else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((content or "Not here").encode())

        def log_message(self, *_):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
