"""Clusters and models for pipelines: what the page and the example files have is taken as it is."""

import re
import unittest

from wharf_fixture import SOURCE, EndToEndTest, sandbox

PIPELINE = SOURCE / "docs" / "pipeline.md"


class PipelineFilesTest(EndToEndTest):
    def test_the_pages_cluster_and_models_can_be_planned(self):
        cluster, models = re.findall(r"^```yaml\n(.*?)^```", PIPELINE.read_text(), re.DOTALL | re.MULTILINE)
        (self.folder / "data").symlink_to(SOURCE / "data")  # the page's profiles are in ../data
        (self.folder / "lab").mkdir()
        (self.folder / "lab" / "cluster.yaml").write_text(cluster)
        (self.folder / "lab" / "models.yaml").write_text(models)
        done = self.command("pipeline", "plan", "--cluster", self.folder / "lab" / "cluster.yaml", "--models",
                            self.folder / "lab" / "models.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("lab", done.stdout)

    def test_what_init_writes_can_be_planned_and_is_not_written_over(self):
        out = self.folder / "new"
        done = self.command("pipeline", "init", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        cluster, models = out / "cluster.yaml", out / "models.yaml"
        plan = self.command("pipeline", "plan", "--cluster", cluster, "--models", models)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        cluster.write_text("mine\n")
        models.unlink()
        self.assert_one_clear_line(self.command("pipeline", "init", out), "cluster.yaml is there already")
        self.assertEqual(cluster.read_text(), "mine\n")
        self.assertFalse(models.exists())

    def test_a_gpu_that_is_not_there_is_refused_in_one_line(self):
        model, gpu = self.folder / "net.onnx", "gpu=device:cuda:64"
        model.write_bytes(b"")  # it is not looked at
        for command in (["profile", model, "--out", self.folder / "lab", "--classes", "cpu=threads:1," + gpu],
                        ["worker", "--cache-dir", "", sandbox(), "--class", gpu]):
            done = self.command("pipeline", *command)
            self.assertEqual(done.returncode, 1)
            self.assert_one_clear_line(done, "class gpu: ")
        self.assertFalse((self.folder / "lab").exists())

    def test_every_key_of_the_example_files_has_a_row_in_the_page(self):
        self.command("pipeline", "init", self.folder)
        keys = set()
        for name in ("cluster.yaml", "models.yaml"):
            keys |= set(re.findall(r"^[ #-]*(\w+):(?: |$)", (self.folder / name).read_text(), re.MULTILINE))
        self.assertLessEqual({"vgpus", "expected_rate", "link_gbit_per_s"}, keys)
        rows = set(re.findall(r"^\| `(?:\w+: )?(\w+)` \|", PIPELINE.read_text(), re.MULTILINE))
        self.assertLessEqual(keys, rows)


if __name__ == "__main__":
    unittest.main()
