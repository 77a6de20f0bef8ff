import pytest

from athand.documents.extract import Kind
from athand.documents.readers import is_binary_name, is_lock_file, is_secret_name, kind_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("README.md", Kind("markdown")),
        ("notes/My Notes.MARKDOWN", Kind("markdown")),
        ("report.qmd", Kind("markdown")),
        ("a.txt", Kind("text")),
        ("README", Kind("text")),
        ("LICENSE-MIT", Kind("text")),
        ("guide.rst", Kind("text")),
        ("index.HTM", Kind("html")),
        ("a.csv", Kind("table", "csv")),
        ("a.tsv", Kind("table", "tsv")),
        ("tsconfig.json", Kind("data", "json")),
        ("log.jsonl", Kind("data", "jsonl")),
        ("ci.yml", Kind("data", "yaml")),
        ("pyproject.toml", Kind("data", "toml")),
        ("pom.xml", Kind("data", "xml")),
        ("setup.cfg", Kind("data", "ini")),
        ("a.ipynb", Kind("notebook")),
        ("src/a.py", Kind("code", "python")),
        ("App.tsx", Kind("code", "typescript")),
        ("main.rs", Kind("code", "rust")),
        ("a.hpp", Kind("code", "cpp")),
        ("a.h", Kind("code", "c")),
        ("q.sql", Kind("code", "sql")),
        ("a.vue", Kind("code", "vue")),
        ("Dockerfile", Kind("code", "dockerfile")),
        ("Dockerfile.dev", Kind("code", "dockerfile")),
        ("api.dockerfile", Kind("code", "dockerfile")),
        ("GNUmakefile", Kind("code", "makefile")),
        ("CMakeLists.txt", Kind("code", "cmake")),
        ("go.mod", Kind("code", "go")),
        ("a.pdf", Kind("pdf")),
        ("a.docx", Kind("docx")),
        ("a.xlsm", Kind("xlsx")),
        ("a.pptx", Kind("pptx")),
        ("a.epub", Kind("epub")),
        ("a.odt", Kind("odt")),
    ],
)
def test_a_name_tells_how_a_file_is_read(name, kind):
    assert kind_of(name) == kind


@pytest.mark.parametrize("name", ["data.xyz", "noextension", "", ".", "a.", ".hidden", "readmenow.q"])
def test_other_names_tell_nothing(name):
    assert kind_of(name) is None


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
