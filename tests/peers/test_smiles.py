"""Molecules from SMILES against RDKit: the graph as written, hydrogens, rings, aromaticity, scaffolds.

A list of SMILES made for this test has every construct of OpenSMILES. DATA=<folder> in the environment: also
every SMILES of the data sets in DATA/moleculenet, of which 99.5 % must be perceived alike and 99 % be in the
same group of scaffolds. What is refused by one side alone must be one of the differences listed here.
--speed: molecules a second, read and perceived, against MolFromSmiles, in turns.
"""

import csv
import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from rdkit import Chem, RDLogger, rdBase
from rdkit.Chem.Scaffolds import MurckoScaffold

ROOT = Path(__file__).resolve().parents[2]
SETS = ("bbbp", "delaney", "freesolv", "lipo", "tox21")
RACE = ("tox21", "lipo", "bbbp")
AROMATIC = 5
ORDERS = {
    Chem.BondType.SINGLE: 1,
    Chem.BondType.DOUBLE: 2,
    Chem.BondType.TRIPLE: 3,
    Chem.BondType.QUADRUPLE: 4,
    Chem.BondType.AROMATIC: AROMATIC,
    Chem.BondType.DATIVE: 1,
}
HYBRIDIZATIONS = {"SP": 1, "SP2": 2, "SP3": 3, "SP2D": 4, "SP3D": 4, "SP3D2": 4}


def build_program(folder):
    program = Path(folder) / "smiles"
    build = ROOT / os.environ.get("BUILD", "build/release")
    command = ["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", f"-I{ROOT}/src", f"-I{ROOT}/include", "-o", program]
    command += [ROOT / "tests/peers/smiles.c", build / "libattn.a"]
    subprocess.run(command + ["-ljansson", "-lutf8proc", "-lz", "-lpthread", "-lm"], check=True)
    return program


def read_set(folder, name):
    path = folder / "moleculenet" / f"{name}.csv"
    opener = open if path.exists() else gzip.open
    with opener(path if path.exists() else f"{path}.gz", "rt", encoding="utf-8", newline="") as file:
        return [row["smiles"].strip() for row in csv.DictReader(file)]


def ends(bond):
    return tuple(sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())))


def written_by_rdkit(smiles):
    molecule = Chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        return None
    atoms = [
        (a.GetAtomicNum(), a.GetFormalCharge(), a.GetIsotope(), a.GetNumExplicitHs(), a.GetAtomMapNum(), int(a.GetIsAromatic()))
        for a in molecule.GetAtoms()
    ]
    return atoms, sorted((*ends(b), ORDERS[b.GetBondType()]) for b in molecule.GetBonds())


def perceived_by_rdkit(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        return None
    atoms = [
        (
            a.GetAtomicNum(),
            a.GetFormalCharge(),
            a.GetIsotope(),
            a.GetTotalNumHs(),
            int(a.IsInRing()),
            int(a.GetIsAromatic()),
            a.GetNumRadicalElectrons(),
            HYBRIDIZATIONS.get(str(a.GetHybridization()), 0),
            a.GetDegree(),
        )
        for a in molecule.GetAtoms()
    ]
    bonds = [
        (
            *ends(b),
            AROMATIC if b.GetIsAromatic() else ORDERS[b.GetBondType()],
            int(b.IsInRing()),
            int(b.GetIsConjugated()),
            int(b.GetBondType() == Chem.BondType.DATIVE),
        )
        for b in molecule.GetBonds()
    ]
    return atoms, sorted(bonds)


def parse_graph(text):
    atoms, bonds = text.split("|")
    numbers = [tuple(map(int, part.split(","))) for part in bonds.split()]
    numbers = [(min(n[:2]), max(n[:2]), *n[2:]) for n in numbers]
    return [tuple(map(int, part.split(","))) for part in atoms.split()], sorted(numbers)


def read_ours(program, folder, smiles):
    path = Path(folder) / "smiles.txt"
    path.write_text("".join(line + "\n" for line in smiles))
    output = subprocess.run([program, path], check=True, capture_output=True).stdout.decode()
    lines = output.split("\n")[:-1]
    assert len(lines) == len(smiles)
    result = []
    for line in lines:
        written, perceived, scaffold = line.split("\t")
        refusal = perceived[6:] if perceived.startswith("error") else None
        result.append(
            (
                None if written == "error" else parse_graph(written),
                None if refusal else [([a for a in g[0]], [(*b[:5], int(b[5] > 0)) for b in g[1]]) for g in [parse_graph(perceived)]][0],
                refusal,
                scaffold,
            )
        )
    return result


ATOM_FIELDS = ("element", "charge", "isotope", "hydrogens", "ring", "aromatic", "radicals", "hybridization", "degree")
BOND_FIELDS = ("from", "to", "order or aromatic", "ring", "conjugated", "dative")


def differing_fields(ours, theirs):
    """Names of what differs between two perceived graphs."""
    if len(ours[0]) != len(theirs[0]) or [b[:2] for b in ours[1]] != [b[:2] for b in theirs[1]]:
        return {"graph"}
    fields = set()
    for names, first, second in ((ATOM_FIELDS, ours[0], theirs[0]), (BOND_FIELDS, ours[1], theirs[1])):
        for a, b in zip(first, second, strict=True):
            prefix = "bond " if names is BOND_FIELDS else ""
            fields |= {prefix + name for name, x, y in zip(names, a, b, strict=True) if x != y}
    return fields
