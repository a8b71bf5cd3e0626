import pytest
import torch

from s2gnn.devices import available_devices, checked_device
from s2gnn.errors import InputError


@pytest.fixture
def machine(monkeypatch):
    """Pretend that this machine has some GPUs."""

    def with_gpus(count):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)

    return with_gpus


def test_auto_is_a_gpu_if_there_is_one(machine):
    machine(0)
    assert checked_device("auto") == torch.device("cpu")
    machine(2)
    assert checked_device("auto") == torch.device("cuda")
    assert available_devices() == ("cpu", "cuda:0", "cuda:1")


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:1", torch.device("cuda", 0)])
def test_devices_that_are_there(machine, name):
    machine(2)
    assert checked_device(name) == torch.device(name)


def test_a_device_that_is_not_there(machine):
    machine(0)
    with pytest.raises(
        InputError, match=r"device is 'cuda', which is not available here.*: choose 'auto' or one of cpu"
    ):
        checked_device("cuda")
    machine(1)
    with pytest.raises(InputError, match=r"device is 'cuda:1', which is not available here.*one of cpu, cuda:0"):
        checked_device("cuda:1")
    with pytest.raises(InputError, match="device is 'meta', which is not available here: choose"):
        checked_device(torch.device("meta"))


@pytest.mark.parametrize("name", ["gpu", "", 1.5, None])
def test_a_name_of_no_device(name):
    with pytest.raises(InputError, match=f"device is {name!r}, which is no device: choose 'auto' or one of cpu"):
        checked_device(name)
