import pytest

from athand.documents.extract import FileKind
from athand.documents.readers.kinds import detect_kind, is_binary_name, is_lock_file, is_secret_name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("README.md", FileKind("markdown")),
        ("notes/My Notes.MARKDOWN", FileKind("markdown")),
        ("report.qmd", FileKind("markdown")),
        ("a.txt", FileKind("text")),
        ("README", FileKind("text")),
        ("LICENSE-MIT", FileKind("text")),
        ("guide.rst", FileKind("text")),
        ("index.HTM", FileKind("html")),
        ("a.csv", FileKind("table", "csv")),
        ("a.tsv", FileKind("table", "tsv")),
        ("tsconfig.json", FileKind("data", "json")),
        ("log.jsonl", FileKind("data", "jsonl")),
        ("ci.yml", FileKind("data", "yaml")),
        ("pyproject.toml", FileKind("data", "toml")),
        ("pom.xml", FileKind("data", "xml")),
        ("setup.cfg", FileKind("data", "ini")),
        ("a.ipynb", FileKind("notebook")),
        ("src/a.py", FileKind("code", "python")),
        ("App.tsx", FileKind("code", "typescript")),
        ("main.rs", FileKind("code", "rust")),
        ("a.hpp", FileKind("code", "cpp")),
        ("a.h", FileKind("code", "c")),
        ("q.sql", FileKind("code", "sql")),
        ("a.vue", FileKind("code", "vue")),
        ("Dockerfile", FileKind("code", "dockerfile")),
        ("Dockerfile.dev", FileKind("code", "dockerfile")),
        ("api.dockerfile", FileKind("code", "dockerfile")),
        ("GNUmakefile", FileKind("code", "makefile")),
        ("CMakeLists.txt", FileKind("code", "cmake")),
        ("go.mod", FileKind("code", "go")),
        ("a.pdf", FileKind("pdf")),
        ("a.docx", FileKind("docx")),
        ("a.xlsm", FileKind("xlsx")),
        ("a.pptx", FileKind("pptx")),
        ("a.epub", FileKind("epub")),
        ("a.odt", FileKind("odt")),
    ],
)
def test_a_name_tells_how_a_file_is_read(name, kind):
    assert detect_kind(name) == kind


@pytest.mark.parametrize("name", ["data.xyz", "noextension", "", ".", "a.", ".hidden", "readmenow.q"])
def test_other_names_tell_nothing(name):
    assert detect_kind(name) is None


@pytest.mark.parametrize(
    "name",
    "package-lock.json web/yarn.lock pnpm-lock.yaml poetry.lock uv.lock Cargo.lock go.sum Gemfile.lock composer.lock "
    "Pipfile.lock flake.lock npm-shrinkwrap.json".split(),
)
def test_lock_files_are_known(name):
    assert is_lock_file(name)


@pytest.mark.parametrize("name", ["lock.py", "locksmith.md", "package.json", "go.mod"])
def test_other_files_are_not_locks(name):
    assert not is_lock_file(name)


@pytest.mark.parametrize(
    "name",
    "a.PNG film.mp4 a.tar.gz x.whl font.woff2 lib.so lib.so.6 a.dll m.pyc d.sqlite3 w.safetensors a.min.js "
    "css/a.min.css a.js.map .DS_Store a_pb2.py old.xls old.doc".split(),
)
def test_names_without_text_for_people_are_known(name):
    assert is_binary_name(name)


@pytest.mark.parametrize(
    "name", ["a.js", "png", "README.md", "map.py", "mint.css", "a.svg", "key.md", "a.ts", "a.docx"]
)
def test_readable_names_are_not_binary(name):
    assert not is_binary_name(name)


@pytest.mark.parametrize(
    "path",
    ".env .env.local deploy/.env.production prod.env .ssh/id_rsa keys/id_ed25519 server.pem tls.KEY a.p12 a.pfx a.jks "
    "a.keystore p.kdbx .netrc .pgpass .npmrc .pypirc home/.aws/credentials .aws/config .htpasswd "
    "secrets.yaml config/secrets.json .docker/config.json .kube/config .git-credentials terraform.tfstate "
    "client_secret_1.json .envrc".split(),
)
def test_secrets_are_known_by_their_paths(path):
    assert is_secret_name(path)


@pytest.mark.parametrize(
    "path",
    ".env.example .env.sample .env.template environment.md id_rsa.pub docs/secrets.md keys.py config/config.json "
    "credentials.md .ssh/known_hosts aws/config.py secret_santa.txt monkey.md environment.yml .environment".split(),
)
def test_names_that_only_sound_like_secrets_are_not(path):
    assert not is_secret_name(path)
