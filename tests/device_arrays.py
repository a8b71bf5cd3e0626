"""What is true of tensors on a GPU, for tensors on the CPU."""

from torch.overrides import TorchFunctionMode


class DeviceArrays(TorchFunctionMode):
    """Refuses to make an array of a tensor that was not brought to the host by `cpu`, as torch does on a GPU."""

    def __init__(self):
        super().__init__()
        self._on_host = {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in ("numpy", "__array__"):
            assert id(args[0]) in self._on_host, f"{name}() of a tensor that may be on a GPU"
        result = function(*args, **(kwargs or {}))
        if name == "cpu" or (name in ("double", "float", "detach") and id(args[0]) in self._on_host):
            self._on_host[id(result)] = result  # kept, so that no other tensor has its number
        return result
