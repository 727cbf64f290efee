"""Packed models as the safetensors library reads them."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
from safetensors import safe_open
from safetensors.numpy import load_file

SOURCE = pathlib.Path(__file__).parents[2] / "pkg/engine/arch/testdata/gpt2"
ROWS, COLS = 16, 64  # of a superblock


def q8(data):
    """The weights (rows, cols) of panels (panel, superblock, byte) of Q8_0."""
    panels, supers, _ = data.shape
    q = data[:, :, : ROWS * COLS].astype(numpy.int16) - 128
    q = q.reshape(panels, supers, 2, 8, ROWS, 4)  # block, four inputs, row, input
    scales = data[:, :, ROWS * COLS :].copy().view("<f2").reshape(panels, supers, 2, 1, ROWS, 1)
    weights = q * scales.astype(numpy.float32)
    return weights.transpose(0, 4, 1, 2, 3, 5).reshape(panels * ROWS, supers * COLS)


class Pack(unittest.TestCase):
    """A packed model is a safetensors file of which every part can be read."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def pack(self, quant):
        file = os.path.join(self.dir.name, quant + ".safetensors")
        subprocess.run([os.environ["GLOSSA"], "pack", str(SOURCE), "-o", file, "--quant", quant], check=True, capture_output=True)
        return file

    def test_tensors(self):
        """Its tensors are the source's, in float32 to the bit and in Q8_0 within half a step."""
        source = load_file(SOURCE / "model.safetensors")
        embedding = next(v for k, v in source.items() if k.endswith("wte.weight"))
        down = next(v for k, v in source.items() if k.endswith("h.1.mlp.c_proj.weight")).T  # GPT-2 stores (in, out)
        f32 = load_file(self.pack("f32"))
        rows, cols = down.shape
        panels = f32["decoder.1.down"].transpose(0, 2, 1).reshape(-1, cols)
        numpy.testing.assert_array_equal(panels[:rows], down)
        packed = load_file(self.pack("q8_0"))
        for name, want in {"embedding": embedding, "decoder.1.down": down}.items():
            rows, cols = want.shape
            got = q8(packed[name])
            numpy.testing.assert_array_equal(got[rows:], 0)
            step = numpy.abs(want).max(axis=1, keepdims=True) / 127
            self.assertLessEqual((numpy.abs(got[:rows, :cols] - want) / step).max(), 0.57)  # scales have half precision

    def test_metadata(self):
        """Its metadata hold the configuration, the tokenizer's file and a version."""
        with safe_open(self.pack("q4_0"), "numpy") as f:
            meta = f.metadata()
        self.assertEqual(meta["glossa.version"], "2")
        model = json.loads(meta["glossa.model"])
        config = json.loads((SOURCE / "config.json").read_text())
        self.assertEqual((model["type"], model["quant"], model["spec"]["width"]), ("gpt2", "q4_0", config["n_embd"]))
        self.assertEqual(meta["tokenizer"], "hf")
        self.assertEqual(json.loads(meta["tokenizer.json"]), json.loads((SOURCE / "tokenizer.json").read_text()))


if __name__ == "__main__":
    unittest.main()
