"""Modules, functions and classes are named in the words of the field."""

import pytest
from scripts.structure import ROOT, participles, read_modules, repeated_classes

# The words of which module names are made. A new word is added on purpose: would a stranger guess what the file holds?
GLOSSARY = frozenset(
    """
    access actions adapters advice answers app approvals archive arguments auth ax backup bench body bounded brief
    browse browser browsers builder cache calibrate calibration call callback caller calls cancellation candidates
    catalogue catalogues checks chromium chunking chunks citus claude cli client clients code codegen codex common
    compact completion confidence config connection connections container content context contract copy corpus counts
    cues cursors damage decode dedupe definitions demo descriptions diagnostics dispatch distribution docs doctor
    documents docx dom download echo editing embed embedder embedding embeddings engine english entries epub errors
    evaluation events everything eviction excerpts export extract fds file files filters flows folders gateway gemini
    gitignore globs goal grammar grammars headings healing history hits hook hooks html http identifiers importer
    importers index input inputs install items json jsonc jsonl keyphrases keyring kinds label lean length lifecycle
    line lines list load loader log login loop main maintenance masking matrix mcp memories memory merge messages
    middleware model models monitoring neighbours notebook notifications oauth odt onnx openapi operations options
    origin origins other page parameters parse parser passages pdf phrases places plain planner player poisoning
    postgres pptx predict prediction process profiles project projects prompts python query rank raw readers reasons
    rebuild record recorder redaction refresh registry related relations relay remote render replay request requests
    resolve resources response responses rewrite route routes rows salience sandbox scan schema scoring screens
    screenshots script search secrets sections sectors serve server servers service session sessions shapes similarity
    snapshot snippets spelling split sql sqlite startup static statistics stdio store streamable stubs supervisor table
    tables targets terms text thread threads timeout timing token toml tool tools transcripts transfer tree types
    typescript ui unicode usage validate validation values variables vector vocabulary walk web words worker write
    writer xlsx xml zip
    """.split()
)
# Classes that share a name, and why.
SHARED_NAMES = {
    "Session": "a session of work on memories; and one run of the command line, as click users call it",
}


@pytest.fixture(scope="module")
def modules():
    return read_modules(ROOT / "src", "athand")


def test_module_names_are_made_of_the_words_of_the_glossary(modules):
    parts = {part for module in modules for part in module.name.split(".")[1:]}
    words = {word for part in parts for word in part.strip("_").split("_")} - {""}
    assert sorted(words - GLOSSARY) == []
    assert sorted(GLOSSARY - words) == [], "no module is named with it any more"


def test_no_function_is_named_by_a_participle(modules):
    assert participles(modules) == []


def test_classes_of_different_modules_have_different_names(modules):
    assert sorted(repeated_classes(modules).keys() - SHARED_NAMES) == []
