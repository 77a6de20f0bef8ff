"""Modules, functions and classes are named in the words of the field."""

from scripts.structure import ROOT, participles, read_modules, repeated_classes

MODULES = read_modules(ROOT / "src", "athand")

# The words of which module names are made. A new word is added on purpose: would a stranger guess what the file holds?
GLOSSARY = frozenset(
    """
    access actions adapters answers app approvals archive arguments auth ax backup bench body bounded brief browse
    browser browsers builder cache calibrate calibration call callback caller calls candidates catalogue catalogues
    checks chromium chunking chunks citus cli client clients codegen common compact completion confidence config
    connection connections container content context contract copy corpus counts cursors decode dedupe definitions
    demo descriptions diagnostics dispatch distribution docs doctor documents docx dom download echo editing embed
    embedder embedding embeddings engine epub errors eviction evaluation everything excerpts export extract fds file
    files
    browser browsers builder cache calibrate calibration call callback caller calls cancellation candidates catalogue
    catalogues checks chromium chunking chunks citus cli client clients codegen common compact completion confidence
    config connection
    connections container content context contract copy corpus counts cursors decode dedupe definitions demo
    descriptions diagnostics dispatch distribution docs doctor documents docx dom download echo editing embed
    embedder embedding embeddings engine epub errors evaluation everything excerpts export extract fds file files
    filters flows folders gateway gitignore globs goal grammar grammars headings healing history hits html http
    identifiers importers index input inputs install items json jsonc jsonl keyphrases kinds label lean length lifecycle
    line list load loader log loop main maintenance masking matrix mcp memories memory merge middleware model models
    monitoring notebook notifications oauth odt onnx openapi operations options other page parameters parse parser
    passages pdf phrases plain player poisoning postgres pptx predict prediction process profiles prompts python
    query rank raw readers record recorder redaction refresh registry related relations relay remote render replay
    request requests resolve resources response responses rewrite route routes rows salience sandbox scan schema scoring
    screens script search secrets sections sectors serve server servers service session sessions similarity
    browser browsers builder cache calibrate calibration callback caller calls candidates catalogue catalogues
    checks chromium chunking chunks citus cli clients codegen common completion confidence config connection
    connections container content context contract copy corpus counts cues cursors decode dedupe definitions demo
    descriptions diagnostics dispatch distribution docs doctor documents docx dom download echo editing embed
    embedder embedding embeddings engine epub errors evaluation everything excerpts export extract fds file files
    filters flows folders gateway gitignore globs goal grammar grammars headings healing history html http
    identifiers importers index input inputs install json jsonc jsonl keyphrases kinds label length lifecycle line
    list load loader log loop main maintenance masking matrix mcp memories memory merge middleware model models
    monitoring neighbours notebook notifications oauth odt onnx openapi operations options other page parameters
    parse parser passages pdf phrases plain player poisoning postgres pptx predict prediction process profiles
    prompts python query rank raw readers record recorder redaction refresh registry related relations remote render
    replay request resolve resources response responses rewrite route routes rows salience sandbox scan schema
    scoring screens script search secrets sections sectors serve server servers service session sessions similarity
    snapshot spelling split sql sqlite startup static stdio store streamable stubs supervisor table tables targets
    passages pdf phrases plain planner player poisoning postgres pptx predict prediction process profiles prompts
    python query rank raw readers record recorder redaction refresh registry related relations remote render replay
    request resolve resources response responses rewrite route routes rows salience sandbox scan schema scoring
    screens script search secrets sections sectors serve server servers service session sessions similarity snapshot
    spelling split sql sqlite startup static statistics stdio store streamable stubs supervisor table tables targets
    terms text thread threads timeout timing token toml tool tools transfer types typescript ui unicode usage
    passages pdf phrases plain places player poisoning postgres pptx predict prediction process profiles prompts python
    query rank raw readers record reasons recorder redaction refresh registry related relations remote render replay
    request resolve resources response responses rewrite route routes rows salience sandbox scan schema scoring
    screens script search secrets sections sectors serve server servers service session shapes sessions similarity
    snapshot snippets spelling split sql sqlite startup static stdio store streamable stubs supervisor table tables
    targets terms text thread threads timeout timing token toml tool tools transfer types typescript ui unicode usage
    validate validation values variables vector vocabulary walk words worker write xlsx xml zip
    identifiers importers index input inputs install items json jsonc jsonl keyphrases kinds label lean length
    lifecycle line list load loader log loop main maintenance masking matrix mcp memories memory merge middleware
    model models monitoring notebook notifications oauth odt onnx openapi operations options origin origins other page
    parameters parse parser passages pdf phrases places plain player poisoning postgres pptx predict prediction
    process profiles prompts python query rank raw readers reasons record recorder redaction refresh registry related
    relations remote render replay request resolve resources response responses rewrite route routes rows salience
    sandbox scan schema scoring screens script search secrets sections sectors serve server servers service session
    sessions shapes similarity snapshot snippets spelling split sql sqlite startup static statistics stdio store
    streamable stubs supervisor table tables targets terms text thread threads timeout timing token toml tool tools
    transfer types typescript ui unicode usage validate validation values variables vector vocabulary walk words
    worker write xlsx xml zip
    screens script search secrets sections sectors serve server servers service session sessions similarity snapshot
    spelling split sql sqlite startup static statistics stdio store streamable stubs supervisor table tables targets
    terms text thread threads timeout timing token toml tool tools transfer types typescript ui unicode usage
    rebuild damage validate validation values variables vector vocabulary walk words worker write writer xlsx xml zip
    worker write xlsx xml zip keyring
    access actions adapters advice answers app approvals archive arguments auth ax backup bench body bounded brief
    browse browser browsers builder cache calibrate calibration call callback caller calls candidates catalogue
    catalogues checks chromium chunking chunks citus cli client clients codegen common compact completion confidence
    config connection connections container content context contract copy corpus counts cues cursors damage decode
    dedupe definitions demo descriptions diagnostics dispatch distribution docs doctor documents docx dom download
    echo editing embed embedder embedding embeddings engine epub errors evaluation everything eviction excerpts export
    extract fds file files filters flows folders gateway gitignore globs goal grammar grammars headings healing
    history hits html http identifiers importers index input inputs install items json jsonc jsonl keyphrases keyring
    kinds label lean length lifecycle line list load loader log loop main maintenance masking matrix mcp memories
    memory merge middleware model models monitoring neighbours notebook notifications oauth odt onnx openapi
    operations options origin origins other page parameters parse parser passages pdf phrases places plain planner
    player poisoning postgres pptx predict prediction process profiles project projects prompts python query rank raw
    readers reasons rebuild record recorder redaction refresh registry related relations relay remote render replay
    request requests resolve resources response responses rewrite route routes rows salience sandbox scan schema
    scoring screens script search secrets sections sectors serve server servers service session sessions shapes
    similarity snapshot snippets spelling split sql sqlite startup static statistics stdio store streamable stubs
    supervisor table tables targets terms text thread threads timeout timing token toml tool tools transfer types
    typescript ui unicode usage validate validation values variables vector vocabulary walk words worker write writer
    xlsx xml zip
    """.split()
)
# Classes that share a name, and why.
SHARED_NAMES = {
    "Session": "a session of work on memories; and one run of the command line, as click users call it",
}


def test_module_names_are_made_of_words_of_the_glossary():
    parts = {part for module in MODULES for part in module.name.split(".")[1:]}
    assert sorted({word for part in parts for word in part.strip("_").split("_")} - GLOSSARY) == []


def test_no_function_is_named_by_a_participle():
    assert participles(MODULES) == []


def test_classes_of_different_modules_have_different_names():
    assert sorted(repeated_classes(MODULES).keys() - SHARED_NAMES) == []
