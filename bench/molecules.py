"""Training on molecules: an epoch of graph attention in PyTorch Geometric; and RDKit's speed with SMILES.

    python bench/molecules.py FOLDER [--layer TransformerConv] [--layers 3] [--width 128] [--heads 8]
    python bench/molecules.py FOLDER --smiles

FOLDER has tox21.csv (lipo.csv and bbbp.csv for --smiles), perhaps with .gz.
Atoms are one-hot properties (57 columns), bonds too (10), both ways. The network:
linear, blocks of attention and feed-forward with layer norm before and the
sum around each, mean and maximum over the atoms, 12 outputs, binary
cross-entropy where there is a label, Adam, 64 molecules a step in a new order
every epoch. RDKit makes the graphs once, before the clock starts. Edges are
sorted by target. Three ways to batch: PyTorch Geometric's DataLoader
("loader"), the same in a second process ("worker"), and all batches made
before the clock starts ("ready"); eager and compiled each.

Every measurement is a process of its own with two threads; they take turns,
and the best epoch counts. --attn 'COMMAND {data} {threads}' runs our side in turn.
"""

import argparse
import csv
import gzip
import itertools
import json
import sys
import time
from pathlib import Path

import numpy as np
from graphs import attn_side, describe, mebibytes, prepared_torch, print_best, resident, take_turns

ELEMENTS = "C N O S Cl F Br I P Na Si Sn B K As Ca Se Cu Zn Hg Al Pt Co Cr Mn Fe Li Ti".split()
BOND_COLUMNS = 10  # also of a lone atom, which has no bond
TABLES_OF_SMILES = ("tox21", "lipo", "bbbp")


def read_table(folder, name):
    path = folder / f"{name}.csv"
    opened = (
        open(path, newline="", encoding="utf-8")
        if path.exists()
        else gzip.open(f"{path}.gz", "rt", newline="")
    )
    with opened as file:
        return list(csv.DictReader(file))


def one_hot(value, choices):
    """A column a choice, and one for all others."""
    return [value == choice for choice in choices] + [value not in choices]


def atom_columns(atom):
    from rdkit.Chem import ChiralType, HybridizationType as H

    return (
        one_hot(atom.GetSymbol(), ELEMENTS)
        + one_hot(atom.GetDegree(), range(6))
        + one_hot(atom.GetTotalNumHs(), range(4))
        + one_hot(atom.GetFormalCharge(), (-1, 0, 1, 2))
        + one_hot(atom.GetHybridization(), (H.SP, H.SP2, H.SP3, H.SP3D, H.SP3D2))
        + [atom.GetIsAromatic(), atom.IsInRing()]
        + one_hot(atom.GetChiralTag(), (ChiralType.CHI_TETRAHEDRAL_CW, ChiralType.CHI_TETRAHEDRAL_CCW))
    )


def bond_columns(bond):
    from rdkit.Chem import BondStereo, BondType

    kinds = [
        bond.GetBondType() == kind
        for kind in (BondType.SINGLE, BondType.DOUBLE, BondType.TRIPLE, BondType.AROMATIC)
    ]
    stereo = one_hot(bond.GetStereo(), (BondStereo.STEREONONE, BondStereo.STEREOZ, BondStereo.STEREOE))
    return kinds + [bond.GetIsConjugated(), bond.IsInRing()] + stereo


def graph_of(molecule, labels):
    """Both directions of every bond, sorted by target; NaN is a missing label."""
    import torch
    from torch_geometric.data import Data

    bonds = []
    for bond in molecule.GetBonds():
        begin, end, columns = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond_columns(bond)
        bonds += [(end, begin, columns), (begin, end, columns)]
    bonds.sort(key=lambda bond: bond[:2])
    pairs = np.array([(source, target) for target, source, _ in bonds], np.int64).reshape(-1, 2)
    return Data(
        x=torch.tensor([atom_columns(atom) for atom in molecule.GetAtoms()], dtype=torch.float32),
        edge_index=torch.from_numpy(pairs.T.copy()),
        edge_attr=torch.from_numpy(
            np.array([bond[2] for bond in bonds], np.float32).reshape(-1, BOND_COLUMNS)
        ),
        y=torch.tensor([labels], dtype=torch.float32),
    )


def tox21(folder):
    """The molecules of tox21 that RDKit reads, as graphs."""
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")
    graphs = []
    for row in read_table(Path(folder), "tox21"):
        molecule = Chem.MolFromSmiles(row["smiles"])
        labels = [float(text) if text else float("nan") for name, text in row.items() if name != "smiles"]
        if molecule is not None and molecule.GetNumAtoms():
            graphs.append(graph_of(molecule, labels))
    return graphs


def make_network(layer, layers, columns, heads, fan_in, bonds, tasks, projection):
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch_geometric import nn as geometric

    d = columns // heads

    def attention():
        if layer == "TransformerConv":
            return geometric.TransformerConv(columns, d, heads=heads, edge_dim=bonds, root_weight=False)
        return getattr(geometric, layer)(columns, d, heads=heads, edge_dim=bonds, add_self_loops=False)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2, self.attention = nn.LayerNorm(columns), nn.LayerNorm(columns), attention()
            self.output = nn.Linear(columns, columns) if projection else nn.Identity()
            self.up, self.down = nn.Linear(columns, 2 * columns), nn.Linear(2 * columns, columns)

        def forward(self, x, edges, bonds):
            x = x + self.output(self.attention(self.norm1(x), edges, bonds))
            return x + self.down(F.relu(self.up(self.norm2(x))))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.input = nn.Linear(fan_in, columns)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.tasks = nn.LayerNorm(columns), nn.Linear(2 * columns, tasks)

        def forward(self, x, edges, bonds, batch, molecules: int):
            x = self.input(x)
            for block in self.blocks:
                x = block(x, edges, bonds)
            x = self.norm(x)
            pools = (geometric.global_mean_pool, geometric.global_max_pool)
            return self.tasks(torch.cat([pool(x, batch, molecules) for pool in pools], 1))

    return Network()


def batches_of(graphs, way, size):
    """A function that gives the batches of an epoch."""
    import torch
    from torch_geometric.data import Batch
    from torch_geometric.loader import DataLoader

    if way == "ready":
        order = torch.randperm(len(graphs)).tolist()
        ready = [
            Batch.from_data_list([graphs[i] for i in order[first : first + size]])
            for first in range(0, len(order), size)
        ]
        return lambda: ready
    workers = 1 if way == "worker" else 0
    loader = DataLoader(graphs, size, shuffle=True, num_workers=workers, persistent_workers=bool(workers))
    return lambda: loader


def train_job(job):
    graphs = tox21(job["path"])
    torch = prepared_torch()
    from torch.nn.functional import binary_cross_entropy_with_logits

    sizes = (graphs[0].x.shape[1], graphs[0].edge_attr.shape[1], graphs[0].y.shape[1])
    model = make_network(job["layer"], job["layers"], job["columns"], job["heads"], *sizes, job["projection"])
    call = torch.compile(model, dynamic=True) if job["compiled"] else model
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, fused=True)
    batches = batches_of(graphs, job["loader"], job["batch"])
    before, seconds, losses = resident("VmRSS"), [], []
    for _ in range(1 + job["epochs"]):
        total, count, start = 0.0, 0, time.perf_counter()
        for batch in batches():
            logits = call(batch.x, batch.edge_index, batch.edge_attr, batch.batch, batch.num_graphs)
            known = ~batch.y.isnan()
            loss = binary_cross_entropy_with_logits(logits[known], batch.y[known])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total, count = total + loss.detach(), count + 1
        losses.append(float(total) / count)
        seconds.append(time.perf_counter() - start)
    return {
        "seconds": seconds[1:],  # the first epoch warms up and compiles
        "losses": losses,
        "molecules": len(graphs),
        "atoms": sum(graph.num_nodes for graph in graphs),
        "edges": sum(graph.num_edges for graph in graphs),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "columns": list(sizes),
        "before": before,
        "peak": resident("VmHWM"),
    }


def training(arguments):
    common = {
        "path": str(arguments.folder),
        "layer": arguments.layer,
        "layers": arguments.layers,
        "keep": True,
    }
    common.update(columns=arguments.columns, heads=arguments.heads, batch=arguments.batch)
    common.update(projection=arguments.projection, epochs=arguments.epochs)
    jobs = [
        {**common, "loader": way, "compiled": compiled}
        for way, compiled in itertools.product(("loader", "worker", "ready"), (False, True))
    ]
    ours = (lambda: attn_side(arguments.attn, data=arguments.folder, seed=0)) if arguments.attn else None
    results = take_turns(__file__, jobs, arguments.rounds, lambda result: min(result["seconds"]), ours)
    own, rows = results.pop("attn", []), []
    for job in jobs:
        turns = results.get(describe(job))
        if not turns:
            continue
        row = {"variant": describe(job), "seconds": min(min(turn["seconds"]) for turn in turns)}
        row.update(
            {name: turns[0][name] for name in ("molecules", "atoms", "edges", "parameters", "columns")}
        )
        row["peak"] = min(turn["peak"] for turn in turns)
        rows.append(row)
        print(
            f"PyTorch Geometric, {row['variant']}: an epoch {row['seconds']:.2f} s "
            f"({row['molecules'] / row['seconds']:,.0f} molecules a second); peak memory {mebibytes(row['peak'])}",
            flush=True,
        )
    print_best(rows)
    if rows:
        print(
            "{molecules} molecules, {atoms} atoms, {edges} edges; {parameters} parameters".format(**rows[0])
        )
    return {"rivals": rows, "attn": own}


def smiles(arguments):
    """Molecules a second, one thread: MolFromSmiles as it is, and without sanitising."""
    from rdkit import Chem, RDLogger, __version__

    RDLogger.DisableLog("rdApp.*")
    texts = [row["smiles"] for name in TABLES_OF_SMILES for row in read_table(arguments.folder, name)]
    rows = []
    for sanitize in (True, False):
        best = float("inf")
        for _ in range(max(3, arguments.rounds)):
            start = time.perf_counter()
            read = sum(Chem.MolFromSmiles(text, sanitize=sanitize) is not None for text in texts)
            best = min(best, time.perf_counter() - start)
        rows.append(
            {"sanitize": sanitize, "texts": len(texts), "read": read, "per_second": len(texts) / best}
        )
        print(
            f"RDKit {__version__}, MolFromSmiles{'' if sanitize else ', sanitize=False'}: {len(texts) / best:,.0f} a "
            f"second, one thread ({read} of {len(texts)} read)"
        )
    ours = [attn_side(arguments.attn, data=arguments.folder, seed=0)] if arguments.attn else []
    return {"rivals": rows, "attn": ours}


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--smiles", action="store_true", help="RDKit's reading alone")
    parser.add_argument(
        "--layer", choices=("TransformerConv", "GATv2Conv", "GATConv"), default="TransformerConv"
    )
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--batch", type=int, default=64, help="molecules a step")
    parser.add_argument("--projection", action="store_true", help="a linear layer after the heads")
    parser.add_argument("--epochs", type=int, default=3, help="timed in a turn, after one that is not")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--attn", help="our command; {data} and {threads} are replaced")
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def main():
    arguments = parse()
    figures = smiles(arguments) if arguments.smiles else training(arguments)
    for result in figures["attn"]:
        print(f"attn: {json.dumps(result)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        print(json.dumps(train_job(json.loads(sys.argv[2]))))
    else:
        main()
