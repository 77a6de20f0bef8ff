"""File kinds by name: how a file is read, and whether it is binary, a lock file or secret."""

import re
from fnmatch import translate
from pathlib import PurePosixPath

from athand.documents.extract import FileKind

RICH = ("pdf", "docx", "xlsx", "pptx", "epub", "odt", "html", "notebook")

_PROSE = {
    "markdown": "md markdown mdown mkd mdx qmd rmd",
    "text": "txt text rst adoc asciidoc org log tex ltx bib textile wiki pod srt vtt man me 1st diff patch",
    "html": "html htm xhtml",
    "notebook": "ipynb",
    "pdf": "pdf",
    "docx": "docx docm dotx dotm",
    "xlsx": "xlsx xlsm xltx xltm",
    "pptx": "pptx pptm ppsx ppsm potx potm",
    "epub": "epub",
    "odt": "odt ott",
}
_DATA = {
    "json": "json jsonc json5 geojson webmanifest avsc har",
    "jsonl": "jsonl ndjson",
    "yaml": "yaml yml",
    "toml": "toml",
    "xml": "xml xsd xsl xslt rss atom opml plist svg wsdl csproj vbproj fsproj props targets resx xaml storyboard xib",
    "ini": "ini cfg conf cnf desktop editorconfig service timer socket",
    "properties": "properties",
}
_CODE = {
    "python": "py pyi pyw pyx pxd",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp",
    "csharp": "cs csx",
    "ruby": "rb rake gemspec erb",
    "php": "php phtml",
    "swift": "swift",
    "kotlin": "kt kts",
    "scala": "scala sc sbt",
    "groovy": "groovy gradle",
    "shell": "sh bash zsh ksh fish bats",
    "powershell": "ps1 psm1 psd1",
    "batch": "bat cmd",
    "sql": "sql psql ddl",
    "lua": "lua",
    "perl": "pl pm t",
    "r": "r",
    "julia": "jl",
    "haskell": "hs lhs",
    "elm": "elm",
    "purescript": "purs",
    "elixir": "ex exs eex heex",
    "erlang": "erl hrl",
    "clojure": "clj cljs cljc edn",
    "lisp": "lisp lsp cl el",
    "scheme": "scm ss rkt",
    "dart": "dart",
    "zig": "zig",
    "nim": "nim nims",
    "crystal": "cr",
    "d": "d",
    "v": "vsh",
    "ocaml": "ml mli",
    "fsharp": "fs fsi fsx",
    "visualbasic": "vb vbs bas",
    "pascal": "pas pp dpr",
    "fortran": "f f90 f95 f03 f08 for",
    "cobol": "cob cbl",
    "ada": "adb ads",
    "assembly": "asm s",
    "objectivec": "m mm",
    "cuda": "cu cuh",
    "glsl": "glsl hlsl vert frag comp wgsl metal",
    "verilog": "v sv svh",
    "vhdl": "vhd vhdl",
    "solidity": "sol",
    "css": "css",
    "scss": "scss sass",
    "less": "less styl",
    "vue": "vue",
    "svelte": "svelte",
    "astro": "astro",
    "template": "j2 jinja jinja2 hbs mustache ejs liquid pug njk tmpl tpl twig",
    "protobuf": "proto",
    "thrift": "thrift",
    "graphql": "graphql gql",
    "terraform": "tf tfvars hcl",
    "nix": "nix",
    "bazel": "bzl bazel star",
    "cmake": "cmake",
    "makefile": "mk mak",
    "dockerfile": "dockerfile containerfile",
    "prisma": "prisma",
    "tcl": "tcl",
    "awk": "awk sed",
    "vim": "vim",
    "coffeescript": "coffee",
    "stata": "do ado",
    "gdscript": "gd",
}
_NAMES = {
    FileKind("code", "dockerfile"): "dockerfile containerfile",
    FileKind("code", "makefile"): "makefile gnumakefile bsdmakefile",
    FileKind("code", "cmake"): "cmakelists.txt",
    FileKind("code", "ruby"): "gemfile rakefile vagrantfile podfile brewfile fastfile guardfile",
    FileKind("code", "groovy"): "jenkinsfile",
    FileKind("code", "bazel"): "build workspace tiltfile",
    FileKind("code", "just"): "justfile",
    FileKind("code", "go"): "go.mod go.work",
    FileKind("code", "shell"): ".bashrc .bash_profile .zshrc .profile pkgbuild configure gradlew",
    FileKind("data", "ini"): ".gitconfig .gitmodules .editorconfig .flake8 .pylintrc .coveragerc pipfile procfile",
    FileKind("data", "json"): ".babelrc .eslintrc .prettierrc .swcrc",
    FileKind("data", "yaml"): ".clang-format .clang-tidy",
    FileKind("text"): "readme license licence copying copyright notice authors contributors contributing maintainers "
    "changelog changes history news todo thanks credits install faq version codeowners owners patents acknowledgements "
    ".gitignore .gitattributes .dockerignore .npmignore .athandignore .env.example .env.sample .env.template",
}


def _build_table() -> dict[str, FileKind]:
    kinds = {"csv": FileKind("table", "csv"), "tsv": FileKind("table", "tsv"), "tab": FileKind("table", "tsv")}
    kinds |= {ending: FileKind(name) for name, endings in _PROSE.items() for ending in endings.split()}
    kinds |= {ending: FileKind("data", name) for name, endings in _DATA.items() for ending in endings.split()}
    return kinds | {ending: FileKind("code", name) for name, endings in _CODE.items() for ending in endings.split()}


_BY_ENDING = _build_table()
_BY_NAME = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def detect_kind(name: str) -> FileKind | None:
    """The kind of a file by its name or path; None when the name does not tell."""
    low = PurePosixPath(name).name.lower()
    if low in _BY_NAME:
        return _BY_NAME[low]
    stem, _, ending = low.rpartition(".")
    if stem and ending in _BY_ENDING:
        return _BY_ENDING[ending]
    return _detect_by_first_word(low)


def _detect_by_first_word(low: str) -> FileKind | None:
    """The kind by the first word, as in `Dockerfile.dev`, `LICENSE-MIT`, `README.de`."""
    first = low.replace("-", ".").split(".")[0]
    kind = _BY_NAME.get(first)
    return kind if kind and (kind.name == "text" or kind.language in ("dockerfile", "makefile")) else None


def _compile(patterns: str) -> re.Pattern[str]:
    """One expression for many glob patterns, such as `*.pem`: all files of a folder are compared with it."""
    return re.compile("|".join(map(translate, patterns.split())))


_LOCKS = _compile(
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml bun.lockb go.sum go.work.sum packages.lock.json "
    "gradle.lockfile package.resolved *.lock *.lock.json *-lock.json *-lock.yaml .terraform.lock.hcl *.lockfile"
)

_BINARY = frozenset(
    # images, sound, film
    "png jpg jpeg jpe gif bmp tif tiff webp avif heic heif ico icns cur psd ai xcf raw cr2 nef dng tga dds hdr exr jp2 "
    "jxl eps mp3 wav flac ogg oga opus m4a aac wma aif aiff mid midi amr mp4 m4v mov avi mkv webm wmv flv mpg mpeg 3gp "
    "ogv vob blend fbx glb gltf obj stl dae 3ds max ma mb "
    # archives, images of disks
    "zip tar gz tgz bz2 tbz tbz2 xz txz zst tzst 7z rar lz lz4 lzma z cab arj jar war ear aar apk aab ipa whl egg gem "
    "crate nupkg vsix xpi crx deb rpm msi dmg pkg iso img vmdk vdi qcow2 vhd vhdx ova snap flatpak appimage "
    # fonts, objects, programs
    "ttf otf woff woff2 eot pfb pfm o a so dylib dll lib exe com bin elf out obj pdb ilk exp class pyc pyo pyd beam hi "
    "wasm node rlib rmeta d.ts.map bc ko sys swf dex ser "
    # databases, weights, arrays
    "db db3 sqlite sqlite3 sqlite-wal sqlite-shm mdb accdb ldb sst rdb dbf frm ibd myd myi parquet orc avro feather "
    "arrow npy npz h5 hdf5 hdf mat pkl pickle joblib dill rds rdata sav dta pt pth ckpt safetensors onnx gguf ggml "
    "tflite pb tfrecord mlmodel keras caffemodel params bson msgpack dat idx pack "
    # documents in formats that are not read
    "doc dot xls xlt xlsb ppt pps pot ods odp odg rtf pages numbers key wpd wps pub vsd vsdx mpp one djvu mobi azw "
    "azw3 chm hlp msg pst dwg dxf skp sketch fig xd indd ps xps "
    # what tools leave behind
    "swp swo tmp bak orig rej pid lnk torrent crdownload part ds_store suo user ncb tsbuildinfo".split()
)
_GENERATED = _compile(
    "*.min.js *.min.mjs *.min.css *-min.js *.bundle.js *.chunk.js *.map *.so.* .ds_store thumbs.db desktop.ini "
    "*_pb2.py *_pb2_grpc.py *_pb2.pyi *.pb.go *.pb.cc *.pb.h *.g.dart *.freezed.dart *.designer.cs *~ .#* ._*"
)


def is_lock_file(name: str) -> bool:
    """Whether a file is a lock file of a package manager."""
    return bool(_LOCKS.match(PurePosixPath(name).name.lower()))


def is_binary_name(name: str) -> bool:
    """Whether a file is binary or generated by its name: images, archives, programs, databases, minified code."""
    low = PurePosixPath(name).name.lower()
    stem, _, ending = low.rpartition(".")
    return (bool(stem) and ending in _BINARY) or bool(_GENERATED.match(low))


_EXAMPLES = (".example", ".sample", ".template", ".dist", ".default", ".defaults", ".tmpl")
_SECRET_NAMES = _compile(
    ".env .env.* *.env .envrc id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk id_xmss *_rsa *_ed25519 "
    "*.pem *.key *.p8 *.p12 *.pfx *.pkcs12 *.jks *.jceks *.bks *.keystore *.keychain *.keychain-db *.kdb *.kdbx *.ppk "
    "*.gpg *.pgp *.ovpn *.agekey *.age *.tfstate *.tfstate.* *.mobileprovision "
    ".netrc _netrc .pgpass pgpass.conf .my.cnf .mylogin.cnf .npmrc .yarnrc .pypirc .htpasswd .git-credentials "
    ".dockercfg .s3cfg .boto .vault-token .vault_pass .vault-password master.key wallet.dat shadow "
    "credentials credentials.json credentials.yml credentials.yaml credentials.xml credentials.toml credentials.ini "
    "client_secret*.json service-account*.json service_account*.json serviceaccount*.json application_default_*.json "
    "secret secrets secrets.json secrets.yml secrets.yaml secrets.toml secrets.ini secrets.env secret.json secret.yml "
    "secret.yaml secret.toml *.secret *.secrets terraform.tfvars *.auto.tfvars kubeconfig *.kubeconfig"
)
_SECRET_PATHS = _compile(
    "*.aws/config *.aws/credentials *.docker/config.json *.kube/config *.gnupg/* *.config/gh/hosts.yml "
    "*.azure/*.json *.config/gcloud/* *.gem/credentials *.cargo/credentials* *.m2/settings-security.xml *.ssh/*"
)
_PUBLIC = _compile("*.pub *.pub.asc known_hosts authorized_keys *.ssh/config")


def is_secret_name(path: str) -> bool:
    """Whether a file holds secrets by its path, such as a key or a password file."""
    low = path.lower().replace("\\", "/")
    name = PurePosixPath(low).name
    if name.endswith(_EXAMPLES) or _PUBLIC.match(name) or _PUBLIC.match(low):
        return False
    return bool(_SECRET_NAMES.match(name) or _SECRET_PATHS.match(low))
