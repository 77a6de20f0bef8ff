"""A wire that can be cut: a TCP proxy before the unix socket of a server."""

import selectors
import socket
import struct
import threading
from contextlib import suppress

TO_SERVER, TO_CLIENT = "to server", "to client"
_RESET = struct.pack("ii", 1, 0)  # closing sends RST, as when a machine is gone


class Proxy:
    """Passes bytes on until it is told otherwise; `cuts` counts the connections that were cut on the way."""

    def __init__(self, target):
        self._target = str(target)
        self._lock = threading.RLock()
        self._selector = selectors.DefaultSelector()
        self._ends = {}  # socket → (the other socket, where its bytes go)
        self._closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.port = self._listener.getsockname()[1]
        self.cuts = 0
        self._obey()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._closed.set()
        self._thread.join()
        self.cut()
        self._selector.close()
        self._listener.close()

    def heal(self):
        """Do what a wire does. Connections that have lost bytes are of no use any more."""
        with self._lock:
            if self._silent:
                self.cut()
            self._obey()

    def cut(self):
        """Cut every connection now."""
        with self._lock:
            for end in list(self._ends):
                self._drop(end)

    def refuse(self):
        """Let nobody in; who is there already may stay."""
        with self._lock:
            self._refusing = True

    def silence(self):
        """Swallow everything, even the end of a connection, but keep the sockets open."""
        with self._lock:
            self._silent = True

    def cut_after(self, count, direction):
        """Cut the connection that carries the byte after so many more, once."""
        with self._lock:
            self._left, self._direction = count, direction

    def cut_at(self, words, *, delivered):
        """Cut the connection on which the client says these words, once: delivered and not answered, or not at all."""
        with self._lock:
            self._words, self._delivered = words, delivered

    def is_waiting(self):
        """Whether a cut that was asked for is still to come."""
        with self._lock:
            return self._left is not None or self._words is not None or self._unanswered is not None

    def _obey(self):
        self._silent = self._refusing = False
        self._left = self._direction = self._words = self._delivered = self._unanswered = None

    def _serve(self):
        while not self._closed.is_set():
            for key, _ in self._selector.select(0.05):
                with self._lock, suppress(OSError):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj in self._ends:
                        self._pass_on(key.fileobj)

    def _accept(self):
        client, _ = self._listener.accept()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = socket.socket(socket.AF_UNIX)
        try:
            if self._refusing:
                raise ConnectionRefusedError
            server.connect(self._target)
        except OSError:
            client.close()
            server.close()
            return
        for end, other, direction in ((client, server, TO_SERVER), (server, client, TO_CLIENT)):
            self._ends[end] = (other, direction)
            self._selector.register(end, selectors.EVENT_READ)

    def _pass_on(self, end):
        other, direction = self._ends[end]
        try:
            data = end.recv(1 << 16)
        except OSError:
            data = b""
        if self._silent:
            if not data:
                self._selector.unregister(end)
            return
        passing = self._passing(end, direction, data)
        try:
            other.sendall(data[:passing])
        except OSError:
            self._drop(end)
        if not data or passing < len(data):
            self._drop(end)

    def _passing(self, end, direction, data):
        """How many of these bytes get through; fewer than there are means that the wire is cut here."""
        passing = len(data)
        if self._unanswered is end:
            self._unanswered, passing = None, 0
        if direction == TO_SERVER and self._words is not None and self._words in data:
            self._words = None
            if self._delivered:
                self._unanswered = self._ends[end][0]
            else:
                passing = 0
        if direction == self._direction and self._left is not None:
            passing, self._left = min(passing, self._left), self._left - len(data)
            if self._left < 0:
                self._left = None
        self.cuts += passing < len(data)
        return passing

    def _drop(self, end):
        other, _ = self._ends.pop(end, (None, None))
        if other is None:
            return
        self._ends.pop(other, None)
        for each in (end, other):
            with suppress(KeyError, ValueError):
                self._selector.unregister(each)
            each.close()
            if each is self._unanswered:
                self._unanswered = None
