"""Power loss, simulated: a VFS that writes down what SQLite asks of the disk, and images of what a cut would leave.

What is assumed of the disk and its file system:

- After a sync of a file, its content and size up to there are safe. Until then each write and each truncation may have
  reached the disk or not, whatever became of those before and after it (so: in any order); of a write, any of its
  512-byte sectors.
- Where a file grew but the bytes between did not arrive, there are zeros or garbage.
- Files that come and go do so in order, and surely once the folder is synced. SQLite's own VFS does that at the first
  sync of a log it opened, and after a deletion if SQLite asks for it.
- Bytes outside of what is written do not change ("powersafe overwrite", as SQLite assumes by default), and the folder
  and the empty file that the store makes before SQLite opens it are there.
"""

from pathlib import Path

import apsw

SECTOR = 512
FOLDER = "the folder"
LOGS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


class RecordingVFS(apsw.VFS):
    """The default VFS; `events` are all that happened on the disk, in order: (file, what, …)."""

    def __init__(self, name):
        super().__init__(name, "")
        self.events = []

    def xOpen(self, name, flags):
        return RecordingFile(name, flags, self.events)

    def xDelete(self, name, sync_folder):
        super().xDelete(name, sync_folder)
        self.events.append((Path(name).name, "delete"))
        if sync_folder:
            self.events.append((FOLDER, "sync"))


class RecordingFile(apsw.VFSFile):
    def __init__(self, name, flags, events):
        path = Path(name if isinstance(name, str) else name.filename())
        if not path.exists():
            events.append((path.name, "create"))
        super().__init__("", name, flags)
        self._name, self._events = path.name, events
        self._syncs_folder = bool(flags[0] & LOGS)

    def xWrite(self, data, offset):
        super().xWrite(data, offset)
        self._events.append((self._name, "write", offset, bytes(data)))

    def xTruncate(self, size):
        super().xTruncate(size)
        self._events.append((self._name, "truncate", size))

    def xSync(self, flags):
        super().xSync(flags)
        self._events.append((self._name, "sync"))
        if self._syncs_folder:
            self._events.append((FOLDER, "sync"))
            self._syncs_folder = False


def write_image(events, random, folder):
    """Leave in `folder` what the disk may hold if the power goes after these events."""
    for name in sorted({event[0] for event in events} - {FOLDER}):
        file = _surviving([event for event in events if event[0] in (name, FOLDER)], random)
        if file is not None:
            (folder / name).write_bytes(_content(file, random))


def _surviving(events, random):
    """What happened to the file that has the name in the end; None if there is none."""
    was_there = next(event for event in events if event[0] != FOLDER)[1] != "create"
    possible = [[] if was_there else None]
    for event in events:
        if event[0] == FOLDER:
            possible = possible[-1:]
        elif event[1] in ("create", "delete"):
            possible.append([] if event[1] == "create" else None)
        else:
            possible[-1].append(event)
    return random.choice(possible)


def _content(events, random):
    """The bytes of one file: all up to the last sync, and some of the rest."""
    synced = max((at for at, event in enumerate(events, 1) if event[1] == "sync"), default=0)
    content = bytearray()
    for at, event in enumerate(events):
        chance = 1 if at < synced else random.choice((0, 0.5, 1))
        _apply(content, event, random, lambda chance=chance: random.random() < chance)
    return content


def _apply(content, event, random, arrives):
    match event[1:]:
        case ("write", offset, data):
            for sector in range(offset // SECTOR * SECTOR, offset + len(data), SECTOR):
                if arrives():
                    begin, end = max(sector, offset), min(sector + SECTOR, offset + len(data))
                    gap = max(0, begin - len(content))
                    content += random.choice((bytes, random.randbytes))(gap)
                    content[begin:end] = data[begin - offset : end - offset]
        case ("truncate", size) if arrives():
            del content[size:]
