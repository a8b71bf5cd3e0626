import pytest
import torch

from s2gnn import S2GNN, Graph, InputError
from s2gnn.links import DECODERS, DotDecoder, LinkPredictor, MLPDecoder, predict_links

GRAPH = Graph.from_edge_list([(0, 1), (1, 2), (2, 3)], weights=[0.5, 1.0, 2.0], n_nodes=5)


def test_the_dot_product_is_that_of_the_embeddings():
    z = torch.randn(5, 4)
    expected = z @ z.T
    first, second = torch.tensor([0, 1, 4]), torch.tensor([2, 3, 4])
    assert torch.allclose(DotDecoder(4)(z[first], z[second]), expected[first, second])


def test_the_mlp_is_two_layers_on_the_products():
    decoder = MLPDecoder(4, 7, dropout=0.5).eval()
    first, second = torch.randn(2, 6, 4)
    hidden = torch.relu((first * second) @ decoder.hidden.weight.T + decoder.hidden.bias)
    assert torch.allclose(decoder(first, second), hidden @ decoder.out.weight[0] + decoder.out.bias)
    assert decoder.hidden.weight.shape == (7, 4)


@pytest.mark.parametrize("decoder", DECODERS)
def test_both_ends_count_alike_and_gradients_reach_the_encoder(decoder):
    model = LinkPredictor(S2GNN(3, 8, 4), decoder, 4)
    x, op = model.prepare(torch.randn(5, 3), GRAPH)
    pairs = torch.tensor([[0, 2], [1, 4], [3, 3]])
    assert torch.equal(predict_links(model, x, op, pairs), predict_links(model, x, op, pairs.flip(1)))
    model.train()
    model(x, op, pairs).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.encoder.convs[0].parameters())
    assert model(x, op, []).shape == (0,)


def test_a_decoder_of_ones_own():
    class Distance(DotDecoder):
        def forward(self, first, second):
            return -(first - second).norm(dim=1)

    model = LinkPredictor(S2GNN(3, 8, 4), Distance(4))
    x, op = model.prepare(torch.randn(5, 3), GRAPH)
    assert (predict_links(model, x, op, [(0, 1), (2, 4)]) < 0).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m, x, op: LinkPredictor(m.encoder, "cosine", 4), "decoder is 'cosine', but it must be one of dot, mlp"),
        (lambda m, x, op: LinkPredictor(m.encoder, "dot"), "channels is missing"),
        (lambda m, x, op: m(x, op, [(0, 5)]), r"pairs\[0, 1\] is 5, outside 0..4 for 5 nodes"),
        (lambda m, x, op: m(x, op, [0, 1]), r"pairs has shape \(2,\), expected \(number of pairs, 2\)"),
        (lambda m, x, op: MLPDecoder(0), "in_channels is 0"),
        (lambda m, x, op: MLPDecoder(2, dropout=1.0), "dropout is 1.0"),
    ],
)
def test_unusable_arguments(call, text):
    model = LinkPredictor(S2GNN(3, 8, 4), "dot", 4)
    x, op = model.prepare(torch.randn(5, 3), GRAPH)
    with pytest.raises(InputError, match=text):
        call(model, x, op)
