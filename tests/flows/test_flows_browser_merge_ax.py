"""The join of a DOM snapshot and an accessibility tree, from made-up captures: no browser needed."""

from athand.flows.browser.dom import parse_documents
from athand.flows.browser.merge_ax import MAX_NODES, merge_ax
from athand.flows.browser.targets import css_string


class Page:
    """Builds what the browser would send: elements in document order, with an accessibility node for each role."""

    def __init__(self):
        self.strings, self.ax = [], []
        self.parents, self.types, self.names, self.values, self.attributes = [], [], [], [], []
        self.placed, self.shadows, self.clickable = [], {}, []
        self.add(None, "#document", kind=9)

    def text(self, word):
        if word not in self.strings:
            self.strings.append(word)
        return self.strings.index(word)

    def add(self, parent, tag, *, kind=1, value="", role=None, name="", box=(0, 0, 10, 10), shadow=None, **attributes):
        node = len(self.parents)
        self.parents.append(-1 if parent is None else parent)
        self.types.append(kind)
        self.names.append(self.text(tag))
        self.values.append(self.text(value))
        pairs = [(key.replace("_", "-"), each) for key, each in attributes.items()]
        self.attributes.append([self.text(word) for pair in pairs for word in pair])
        if box:
            self.placed.append((node, box))
        if shadow:
            self.shadows[node] = self.text(shadow)
        if role:
            self.ax.append(
                {"ignored": False, "backendDOMNodeId": node + 100, "role": {"value": role}, "name": {"value": name}}
            )
        return node

    def joined(self, **given):
        empty = {"index": [], "value": []}
        nodes = {
            "parentIndex": self.parents,
            "nodeType": self.types,
            "nodeName": self.names,
            "nodeValue": self.values,
            "backendNodeId": [node + 100 for node in range(len(self.parents))],
            "attributes": self.attributes,
            "shadowRootType": {"index": list(self.shadows), "value": list(self.shadows.values())},
            "contentDocumentIndex": empty,
            "isClickable": {"index": self.clickable},
        }
        visible = self.text("visible")
        layout = {
            "nodeIndex": [node for node, _ in self.placed],
            "bounds": [list(box) for _, box in self.placed],
            "styles": [[visible] for _ in self.placed],
        }
        captured = {
            "nodes": nodes,
            "layout": layout,
            "frameId": self.text("F"),
            "documentURL": self.text("http://a.test/"),
        }
        return merge_ax(
            parse_documents({"documents": [captured], "strings": self.strings}), [self.ax], "data-testid", **given
        )


def test_only_what_is_named_or_can_be_used_is_a_node():
    page = Page()
    body = page.add(0, "BODY", role="generic")
    page.add(body, "P", role="paragraph", name="prose")
    page.add(body, "H1", role="heading", name="  Title\n here ")
    page.add(body, "INPUT", role="textbox")
    page.add(body, "LI", role="listitem")
    page.add(body, "DIV", role="generic", data_testid="box")
    found = page.joined()
    assert [(each.role, each.name, each.ref) for each in found] == [
        ("heading", "Title here", "e1"),
        ("textbox", "", "e2"),
        ("generic", "", ""),
    ]
    assert found[2].to_test_id() == {"testId": "box", "tag": "div", "text": "", "visible": True}


def test_refs_of_an_earlier_look_stay_and_new_ones_go_on():
    page = Page()
    page.add(0, "BUTTON", role="button", name="New")
    old = page.add(0, "BUTTON", role="button", name="Old")
    assert [each.ref for each in page.joined(refs={old + 100: "e7"})] == ["e8", "e7"]


def test_text_is_what_can_be_read():
    page = Page()
    box = page.add(0, "DIV", data_testid="box")
    page.add(box, "#text", kind=3, value=" Seen  \n text ")
    page.add(box, "#text", kind=3, value="hidden", box=None)
    page.add(page.add(box, "B"), "#text", kind=3, value="x" * 300)
    text = page.joined()[0].to_test_id()["text"]
    assert text.startswith("Seen text xxx") and len(text) == 100


def test_a_place_is_named_by_an_id_or_counted():
    page = Page()
    body = page.add(page.add(0, "HTML"), "BODY")
    form = page.add(body, "FORM", id="the-form")
    page.add(form, "P")
    page.add(form, "BUTTON", role="button", name="A")
    page.add(form, "BUTTON", role="button", name="B")
    page.add(body, "BUTTON", role="button", name="C", id="odd:id")
    paths = [each.document.css_path(each.node) for each in page.joined()]
    assert paths == [
        "#the-form > button:nth-of-type(1)",
        "#the-form > button:nth-of-type(2)",
        '[id="odd:id"]',
    ]


def test_what_is_in_a_closed_shadow_root_is_known_to_be():
    page = Page()
    host = page.add(0, "DIV")
    page.add(host, "BUTTON", role="button", name="A", shadow="open")
    inner = page.add(host, "DIV", shadow="closed")
    page.add(inner, "BUTTON", role="button", name="B", shadow="open")
    assert [each.document.is_in_closed_shadow(each.node) for each in page.joined()] == [False, True]


def test_clickable_things_without_a_role_are_nodes_unless_they_hold_others():
    page = Page()
    surface = page.add(0, "DIV", role="generic")
    card = page.add(surface, "DIV", role="generic")
    page.add(card, "#text", kind=3, value="Card")
    page.add(surface, "BUTTON", role="button", name="Go")
    page.clickable = [surface, card]
    assert [(each.role, each.name) for each in page.joined()] == [("generic", "Card"), ("button", "Go")]


def test_there_is_room_for_what_can_be_used_first():
    page = Page()
    for number in range(MAX_NODES):
        page.add(0, "H2", role="heading", name=f"Heading {number}")
    page.add(0, "BUTTON", role="button", name="At the end")
    found = [each for each in page.joined() if each.ref]
    assert len(found) == MAX_NODES
    assert found[-1].name == "At the end"


def test_css_strings_hold_anything():
    assert css_string('a"b\\c\nd') == '"a\\22 b\\5c c\\a d"'
