"""Available devices, and their selection by name."""

import torch

from s2gnn.errors import InputError

AUTO = "auto"
CPU = torch.device("cpu")


def available_devices() -> tuple[str, ...]:
    """Return the devices that torch can use on this machine: "cpu", then the GPUs."""
    gpus = (f"cuda:{index}" for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0))
    return ("cpu", *gpus, *(("mps",) if torch.backends.mps.is_available() else ()))


def checked_device(name: str | torch.device) -> torch.device:
    """Return the device `name` if it is available.

    Args:
        name: "cpu", "cuda", "cuda:1", "mps"; or "auto" for the first CUDA or ROCm GPU, or the CPU if there is none.
            "auto" does not choose "mps", which has no float64.

    Raises:
        InputError: if `name` is not a device, or not available on this machine or in this build of torch.
    """
    available = available_devices()
    if isinstance(name, str) and name == AUTO:
        return torch.device("cuda" if "cuda:0" in available else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError, ValueError, AssertionError):  # the last without a CUDA build
        raise InputError(f"device is {name!r}, which is no device: {_choose(available)}") from None
    if device.type == "cpu" or str(device) in available or f"{device}:0" in available:
        return device
    has_cuda = device.type != "cuda" or torch.version.cuda or torch.version.hip
    reason = "" if has_cuda else f"; torch {torch.__version__} is a build without CUDA"
    raise InputError(f"device is {str(device)!r}, which is not available here{reason}: {_choose(available)}")


def widest_float(device: torch.device) -> torch.dtype:
    """Return the dtype of factors on a device: float64 if it is supported, otherwise float32."""
    return torch.float32 if device.type == "mps" else torch.float64


def _choose(available: tuple[str, ...]) -> str:
    return f"choose {AUTO!r} or one of {', '.join(available)}"
