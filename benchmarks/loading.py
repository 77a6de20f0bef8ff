"""How long the bundled model takes from a fresh process to its first vector; imports nothing else before."""

import json
import time

start = time.perf_counter()
import numpy  # noqa: E402, F401
import tokenizers  # noqa: E402, F401

imported = time.perf_counter()
from athand.embed import load_embedder  # noqa: E402

load_embedder().embed_query("the first vector")
ready = time.perf_counter()
print(json.dumps({"model_s": ready - imported, "with_libraries_s": ready - start}))
