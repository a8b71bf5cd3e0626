import pytest

from tests import bfloat16


def test_a_test_in_a_child_process_has_the_limit_and_its_failure_is_reported(tmp_path):
    (tmp_path / "test_child.py").write_text(
        "import os\n\n"
        "def test_limit():\n    assert os.environ['ONEDNN_MAX_CPU_ISA'] == 'AVX512_CORE_BF16'\n\n"
        "def test_failure():\n    raise ValueError('the reason')\n"
    )
    bfloat16.run_in_child("test_child.py::test_limit", str(tmp_path))
    with pytest.raises(AssertionError, match="the reason"):
        bfloat16.run_in_child("test_child.py::test_failure", str(tmp_path))


def test_only_a_machine_without_products_and_without_the_limit_needs_a_child(monkeypatch):
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.setattr(bfloat16, "products_work", lambda: False)
    assert bfloat16.needs_child()
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
    assert not bfloat16.needs_child()
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")
    monkeypatch.setattr(bfloat16, "products_work", lambda: True)
    assert not bfloat16.needs_child()
