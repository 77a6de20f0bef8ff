"""How the parts of an Office document point to each other."""

from dataclasses import dataclass
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from athand.documents.extract import Unreadable
from athand.documents.readers.package import Package
from athand.documents.readers.xml import elements


@dataclass(frozen=True, slots=True)
class Relation:
    """What another part is to this one (`worksheet`, `notesSlide`), and its name."""

    kind: str
    target: str


def relations(package: Package, part: str) -> dict[str, Relation]:
    """The parts that this one points to, by the ids it uses; those outside of the document are left out."""
    folder, _, name = part.rpartition("/")
    book = f"{folder}/_rels/{name}.rels".lstrip("/")
    if book not in package:
        return {}
    found = elements(package.pieces(book), ("Relationship",))
    return {
        node.get("Id"): Relation(node.get("Type").rpartition("/")[2], resolved(part, node.get("Target")))
        for node in found
        if node.get("TargetMode") != "External"
    }


def resolved(base: str, target: str) -> str:
    """The name of a part, as another part writes it."""
    target = unquote(target.partition("#")[0])
    return normpath(join("/", dirname(base), target)).lstrip("/")


def main_part(package: Package, usual: str) -> str:
    """The part that holds the document itself."""
    found = (each.target for each in relations(package, "").values() if each.kind == "officeDocument")
    name = next(found, usual)
    if name not in package:
        raise Unreadable(f"damaged: it has no part {usual}")
    return name


def declared_title(package: Package) -> str:
    """The title among the properties of an Office document."""
    part = "docProps/core.xml"
    nodes = elements(package.pieces(part), ("title",)) if part in package else iter(())
    return next((node.text() for node in nodes), "")
