"""What a network adds to the loss that it is trained by."""

from torch import Tensor, nn


def auxiliary_loss(model: nn.Module) -> Tensor:
    """The `auxiliary_loss()` of `model` in its last forward pass, a scalar; zero for a model that has none."""
    if hasattr(model, "auxiliary_loss"):
        return model.auxiliary_loss()  # type: ignore[no-any-return, operator]
    return next(model.parameters()).new_zeros(())
