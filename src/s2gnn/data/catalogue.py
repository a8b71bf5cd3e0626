"""The named data sets: their files, publishers, licences, the paper's choices and the paper's figures."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from s2gnn.errors import InputError

Kind = Literal["knn", "smooth", "diffusion", "given"]
Task = Literal["nodes", "graphs"]


def graph_title(kind: str, k: int | None) -> str:
    """A short description of a graph: its kind, and its k if it has one."""
    return kind if k is None else f"{kind}, k = {k}"


@dataclass(frozen=True)
class Original:
    """One file as its publisher ships it.

    Attributes:
        url: where it is.
        name: of the downloaded file until it is converted.
        sha256: of the publisher's file; `None` if unknown, so that a download stays unverified.
    """

    url: str
    name: str
    sha256: str | None


@dataclass(frozen=True)
class Published:
    """A column of the paper's Table I.

    Attributes:
        nodes: N.
        edges: of the k-NN graph, of the diffusion for citation networks, of the given graph for proteins.
        learned_edges: of the learned graph; `None` if the paper has none.
        features: M.
        classes: C, or the number of labels.
    """

    nodes: int
    edges: int
    learned_edges: int | None
    features: int
    classes: int


@dataclass(frozen=True)
class DatasetInfo:
    """One named data set.

    Attributes:
        name: as in `load_dataset`, or `load_collection` where graphs are classified.
        title: a short description.
        file: in the data folder; `None` if the data comes with scikit-learn.
        originals: the publisher's files that `file` is made from; empty if nobody publishes it.
        rows: N after preprocessing, or the number of graphs.
        features: M.
        classes: C, or the number of labels.
        kind: of the graph in the paper's Table I, and the default of `s2gnn data info`.
        k: of the paper's k-NN and learned graphs.
        licence: if known.
        citation: authors and year.
        published: the paper's figures; `None` if the paper does not have this data set.
        otherwise: how to get `file` when there are no originals.
        recipe: increased when the preprocessing changes, which distinguishes results before and after.
        task: whether the "nodes" of one graph are classified or many "graphs".
    """

    name: str
    title: str
    file: str | None
    originals: tuple[Original, ...]
    rows: int
    features: int
    classes: int
    kind: Kind
    k: int
    licence: str
    citation: str
    published: Published | None
    otherwise: str = ""
    recipe: int = 1
    task: Task = "nodes"

    @property
    def sha256_known(self) -> bool:
        """Whether a download is checked: there are originals, and each has a known sha256."""
        return bool(self.originals) and all(original.sha256 for original in self.originals)


# The histology repository at the commit that added its features, Planetoid at its last commit.
_HISTOLOGY = (
    "https://raw.githubusercontent.com/jnkather/histology-multiclass-texture/33791ed1101fbb52e90e218096a76772890c454b"
)
_PLANETOID = "https://raw.githubusercontent.com/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"
_UCI = "https://archive.ics.uci.edu/static/public"

_KATHER = (
    Original(f"{_HISTOLOGY}/datasets/PRIMARY/f-lbp_numFeatures38_last_output_rand_99638.2229.mat", "f-lbp.mat", None),
)

# The sha256 of every original file, in the order of `PLANETOID_PARTS`.
PLANETOID_PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
_PLANETOID_SHA256 = {
    "cora": (
        "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    ),
    "citeseer": (
        "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    ),
    "pubmed": (
        "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    ),
}


def _planetoid(name: str) -> tuple[Original, ...]:
    return tuple(
        Original(f"{_PLANETOID}/ind.{name}.{part}", f"ind.{name}.{part}", sha256)
        for part, sha256 in zip(PLANETOID_PARTS, _PLANETOID_SHA256[name], strict=True)
    )


# The sha256 of the archives as others have published them for these addresses; the data folder's are packed anew.
_TU = "https://www.chrsmrrs.com/graphkerneldatasets"
_TU_SHA256 = {
    "MUTAG": "c419bdc853c367d2d83da4973c45100954ae15e10f5ae2cddde6ca431f8207f6",
    "ENZYMES": "13d832eb6ffa084192daf6e5750250028a18437ee692c38d29a10cd60e18aaf4",
    "PROTEINS": "2da8de15284b88edabca2888ce5444d62f364ed41159260977088c4e53d4d848",
}


def _tu(name: str, title: str, archive: str, graphs: int, features: int, classes: int, citation: str) -> DatasetInfo:
    original = Original(f"{_TU}/{archive}.zip", f"{archive}.zip", _TU_SHA256[archive])
    return DatasetInfo(
        name, title, f"tu/{archive}.zip", (original,), graphs, features, classes, "diffusion", 30,
        "none stated", f"{citation}; Morris et al. 2020", None, task="graphs",
    )  # fmt: skip


_INFOS = (
    DatasetInfo(
        "cancer-b", "colorectal histology, tumour against stroma", "kather/kather_lbp38.npz", _KATHER,
        1_250, 38, 2, "knn", 30, "code MIT, data CC BY", "Kather et al. 2016",
        Published(1_250, 25_734, 19_163, 38, 2),
    ),
    DatasetInfo(
        "cancer-m", "colorectal histology, eight tissues", "kather/kather_lbp38.npz", _KATHER,
        5_000, 38, 8, "knn", 30, "code MIT, data CC BY", "Kather et al. 2016",
        Published(5_000, 101_439, 81_462, 38, 8),
    ),
    DatasetInfo(
        "20news", "posts of ten newsgroups", "news20/20news-bydate.tar.gz",
        (
            Original(
                "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz", "20news-bydate.tar.gz",
                "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
            ),
        ),
        3_000, 2_000, 10, "knn", 30, "none stated", "Lang 1995", Published(3_000, 62_399, 47_496, 2_000, 10),
    ),
    DatasetInfo(
        "har", "activities from a smartphone's sensors", "har/har.npz",
        (
            Original(
                f"{_UCI}/240/human+activity+recognition+using+smartphones.zip", "har.zip",
                "c00b803081a5c797cd5e4b83700a9810b38d53d9d84e01917e090e1fdbc81031",
            ),
        ),
        3_000, 561, 6, "knn", 40, "CC BY 4.0; its README: not commercial", "Anguita et al. 2013",
        Published(3_000, 87_032, 61_400, 561, 6),
    ),
    DatasetInfo(
        "isolet", "spoken letters", "isolet/isolet.npz", (Original(f"{_UCI}/54/isolet.zip", "isolet.zip", None),),
        3_000, 617, 26, "knn", 20, "CC BY 4.0", "Fanty and Cole 1991", Published(3_000, 43_330, 31_130, 617, 26),
    ),
    DatasetInfo(
        "cora", "citations among papers on machine learning", "citation/cora.npz", _planetoid("cora"),
        2_708, 1_433, 7, "diffusion", 30, "MIT (Planetoid)", "Sen et al. 2008; Yang et al. 2016",
        Published(2_485, 205_928, None, 1_433, 7), recipe=2,
    ),
    DatasetInfo(
        "citeseer", "citations among papers on computer science", "citation/citeseer.npz", _planetoid("citeseer"),
        3_327, 3_703, 6, "diffusion", 30, "MIT (Planetoid)", "Sen et al. 2008; Yang et al. 2016",
        Published(2_120, 183_572, None, 3_703, 6), recipe=2,
    ),
    DatasetInfo(
        "pubmed", "citations among papers on diabetes", "citation/pubmed.npz", _planetoid("pubmed"),
        19_717, 500, 3, "diffusion", 30, "MIT (Planetoid)", "Namata et al. 2012; Yang et al. 2016",
        Published(19_717, 1_723_360, None, 500, 3), recipe=2,
    ),
    DatasetInfo(
        "ogbn-proteins", "protein associations in eight species, the first 30,000 proteins",
        "ogbn_proteins/ogbn_proteins.npz",
        (Original("https://snap.stanford.edu/ogb/data/nodeproppred/proteins.zip", "proteins.zip", None),),
        30_000, 8, 112, "given", 30, "CC0", "Hu et al. 2020; Szklarczyk et al. 2019",
        Published(30_000, 13_251_798, None, 8, 112),
    ),
    DatasetInfo(
        "ppi-human", "human protein interactions, a stand-in for ogbn-proteins", "ppi_human/ppi_human.npz", (),
        19_100, 8, 112, "given", 30, "network BSD-3 (scnet), labels Artistic-2.0 (org.hs.eg.db)",
        "network of scnet, Gene Ontology", None,
        otherwise=(
            "nobody publishes it in this form: it joins the network of the PyPI package scnet with the Gene Ontology "
            "labels of Bioconductor's org.hs.eg.db (STRING, https://string-db.org, has a like network); make an .npz "
            "with edge_index, edge_weight, y112, y112_terms and annotated as docs/data.md says"
        ),
        recipe=2,
    ),
    DatasetInfo(
        "digits", "handwritten digits of scikit-learn", None, (), 1_797, 64, 10, "knn", 30, "BSD-3, with scikit-learn",
        "Alpaydin and Kaynak 1998", None,
    ),
    _tu("mutag", "molecules, mutagenic or not", "MUTAG", 188, 7, 2, "Debnath et al. 1991"),
    _tu("enzymes", "enzymes of six classes", "ENZYMES", 600, 3, 6, "Borgwardt et al. 2005"),
    _tu(
        "enzymes-attributes", "enzymes of six classes, with the attributes of their nodes", "ENZYMES", 600, 21, 6,
        "Borgwardt et al. 2005",
    ),
    _tu("proteins", "proteins, enzymes or not", "PROTEINS", 1_113, 3, 2, "Dobson and Doig 2003; Borgwardt et al. 2005"),
)  # fmt: skip

CATALOGUE: dict[str, DatasetInfo] = {info.name: info for info in _INFOS}


def dataset_info(name: str) -> DatasetInfo:
    """What is known about the data set called `name`."""
    if name not in CATALOGUE:
        raise InputError(f"there is no data set {name!r}: choose from {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


# The names in `studies`, until these have moved to `experiments`.
Entry: TypeAlias = DatasetInfo
entry = dataset_info
