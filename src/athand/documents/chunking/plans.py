"""How each kind of file is cut."""

from dataclasses import replace

from athand.documents.chunking import markdown, seams
from athand.documents.chunking.code import definitions
from athand.documents.chunking.data import header, keys
from athand.documents.chunking.marks import marked, places_of
from athand.documents.chunking.pieces import Plan
from athand.documents.chunking.plain import underlined
from athand.documents.extract import Extract, Kind


def plan(extract: Extract, kind: Kind) -> Plan:
    """The plan for a text: by its marks where it has some, else by what its kind is made of."""
    text = extract.text
    if kind.name == "code":
        return Plan(definitions(text, kind.language), seams.code(text), definitions=True)
    if kind.name == "markdown":
        return _markdown(extract)
    if kind.name == "table":
        return Plan([], seams.rows(text), header(text))
    if kind.name == "data":
        return Plan(keys(text, kind.language), seams.code(text))
    sections = marked(extract) if extract.marks else underlined(text)
    split = seams.rows(text) if kind.name == "xlsx" else seams.prose(text)
    return _titled(Plan(sections, split, extract.title, places=places_of(extract.marks)))


def _markdown(extract: Extract) -> Plan:
    blocks = markdown.scan(extract.text)
    return _titled(Plan(blocks.sections, seams.prose(extract.text, blocks.kept), blocks.title or extract.title))


def _titled(plan: Plan) -> Plan:
    """A plan whose title heads every path, unless the text has a heading of the first level."""
    if any(section.level == 1 and section.name for section in plan.sections):
        return replace(plan, title="")
    return plan
