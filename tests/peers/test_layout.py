"""Drawings of molecules against RDKit's: bonds that cross, atoms that lie on top of something.

A list made for this test, of ring systems that are hard to draw, and with DATA=<folder> in the environment, or the
folder as the first argument, 500 molecules chosen by a fixed seed from the data sets in DATA/moleculenet, 100 of
each, are laid out by libattn and by RDKit (Compute2DCoords, with its default settings, and with CoordGen, its other
engine). With lengths in units of the median bond length of the drawing, a defect is

    a crossing      two bonds without a common atom that cross each other
    an overlap      an atom closer than 0.4 to another atom, or to a bond that it does not belong to

libattn must have no more of either than RDKit's default, and no fewer molecules without any. Double bonds outside
of rings that RDKit knows as E or Z must be drawn so.
--all: every molecule of the sets (minutes); --speed: molecules a second of both, in turns; --show N: the worst N.
"""

import csv
import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
from private import build_program
from rdkit import Chem, RDLogger, rdBase
from rdkit.Chem import rdDepictor

SETS = ("bbbp", "delaney", "freesolv", "lipo", "tox21")
EACH = 100
SEED = 1
NEAR = 0.4

# Fused, bridged, spiro, cages, macrocycles, chains with many branches, stereo of double bonds.
MADE = r"""
c1ccccc1 CCCCCCC CC(C)CC(C)(C)C CC(=O)Oc1ccccc1C(=O)O Cn1cnc2c1c(=O)n(C)c(=O)n2C C1CCC2(CC1)OCCO2
CC(C)CCCC(C)C1CCC2C1(CCC3C2CC=C4C3(CCC(C4)O)C)C CN1CCC23C4C1CC5=C2C(=C(C=C5)O)OC3C(C=C4)O C12C3C4C1C5C2C3C45
C1C2CC3CC1CC(C2)C3 C1CC2CCC1C2 CC1(C)C2CCC1(C)C(=O)C2 c1cc2cc3ccc(cc4ccc(cc5ccc(cc1n2)[nH]5)n4)[nH]3
c1cc2ccc3cccc4ccc(c1)c2c34 CC1(C)SC2C(NC(=O)Cc3ccccc3)C(=O)N2C1C(=O)O CC=C=CC#CC#N F/C=C/C=C\C(/Cl)=C/C
C1CCC23CCCC2(C1)CCC3 C1CN2CCC1CC2 CN1C2CCC1CC(C2)OC(=O)C(CO)c1ccccc1 C1Cc2ccc(cc2)CCc2ccc1cc2
O=C1CC2OCC=C3CN4CCC56C4CC3C2C5N1c1ccccc61 c1ccc2c(c1)ccc1ccc3ccc4ccc5ccccc5c4c3c12
c1cc2ccc3ccc4ccc5ccc6ccc1c7c2c3c4c5c67 OC(=O)C(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)C(F)(F)F
[Na+].[Na+].[O-]S(=O)(=O)c1ccccc1.CCO OCC1OC(OC2(CO)OC(CO)C(O)C2O)C(O)C(O)C1O OC(=O)CC(O)(CC(O)=O)C(O)=O
CCC1OC(=O)C(C)C(OC2CC(C)(OC)C(O)C(C)O2)C(C)C(OC2OC(C)CC(C2O)N(C)C)C(C)(O)CC(C)C(=O)C(C)C(O)C1(C)O
NC(=N)NCCCC(N)C(=O)NC(Cc1ccccc1)C(=O)NC(CO)C(=O)NC(CC(N)=O)C(=O)NC(CC(C)C)C(=O)NC(Cc1c[nH]c2ccccc12)C(=O)O
CC1=C(CCC(O)=O)C2=CC3=[N]4C(=CC5=C(C)C(C=C)=C6C=C7C(C=C)=C(C)C8=[N]7[Fe]4(N2C1=C8)N56)C(C)=C3CCC(O)=O
c1ccc(cc1)C(c1ccccc1)(c1ccccc1)c1ccccc1 O=C1CN2CCOC2(c2ccccc2Cl)c2cc(Cl)ccc2N1 C/C=C\C=C\C(=C/C=C)/C(C)=O
""".split()


def read_set(folder, name):
    path = folder / "moleculenet" / f"{name}.csv"
    opener = open if path.exists() else gzip.open
    with opener(path if path.exists() else f"{path}.gz", "rt", encoding="utf-8", newline="") as file:
        return [row["smiles"].strip() for row in csv.DictReader(file)]


def choose(folder, every):
    """Molecules that RDKit reads, in a fixed order."""
    chosen = []
    for name in SETS:
        smiles = read_set(folder, name)
        random.Random(SEED).shuffle(smiles)
        good = (line for line in smiles if Chem.MolFromSmiles(line) is not None)
        chosen += list(good) if every else [line for line, _ in zip(good, range(EACH), strict=False)]
    return chosen


def turn(a, b, c):
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])


def count_crossings(points, bonds):
    first, second = numpy.triu_indices(len(bonds), 1)
    a, b, c, d = bonds[first, 0], bonds[first, 1], bonds[second, 0], bonds[second, 1]
    apart = (a != c) & (a != d) & (b != c) & (b != d)
    a, b, c, d = (points[x[apart]] for x in (a, b, c, d))
    one = (turn(a, b, c) > 0) != (turn(a, b, d) > 0)
    other = (turn(c, d, a) > 0) != (turn(c, d, b) > 0)
    return int((one & other).sum())


def count_overlaps(points, bonds):
    """Atoms that are too close to an atom or to a bond that is not theirs."""
    apart = numpy.linalg.norm(points[:, None] - points[None], axis=2)
    numpy.fill_diagonal(apart, numpy.inf)
    bad = (apart < NEAR).any(axis=1)
    start, end = points[bonds[:, 0]], points[bonds[:, 1]]
    along = end - start
    square = numpy.maximum((along**2).sum(axis=1), 1e-12)
    part = numpy.clip(((points[:, None] - start[None]) * along[None]).sum(axis=2) / square, 0, 1)
    distance = numpy.linalg.norm(points[:, None] - start[None] - part[..., None] * along[None], axis=2)
    distance[bonds[:, 0], numpy.arange(len(bonds))] = numpy.inf
    distance[bonds[:, 1], numpy.arange(len(bonds))] = numpy.inf
    return int((bad | (distance < NEAR).any(axis=1)).sum())


def defects(points, bonds):
    if len(bonds) == 0:
        return 0, 0
    lengths = numpy.linalg.norm(points[bonds[:, 0]] - points[bonds[:, 1]], axis=1)
    points = points / numpy.median(lengths)
    return count_crossings(points, bonds), count_overlaps(points, bonds)


def drawn_by_rdkit(smiles, coordgen):
    molecule = Chem.MolFromSmiles(smiles)
    rdDepictor.SetPreferCoordGen(coordgen)
    rdDepictor.Compute2DCoords(molecule)
    points = molecule.GetConformer().GetPositions()[:, :2]
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()]
    return points, numpy.array(bonds, dtype=int).reshape(-1, 2)


def parse(line):
    atoms, bonds = line.split("|")
    points = [tuple(map(float, part.split(",")[1:])) for part in atoms.split()]
    pairs = [tuple(map(int, part.split(",")[:2])) for part in bonds.split()]
    return numpy.array(points).reshape(-1, 2), numpy.array(pairs, dtype=int).reshape(-1, 2)


def drawn_by_us(program, folder, smiles):
    path = Path(folder) / "smiles.txt"
    path.write_text("".join(line + "\n" for line in smiles))
    output = subprocess.run([program, path], check=True, capture_output=True, text=True).stdout
    lines = output.split("\n")[:-1]
    assert len(lines) == len(smiles) and "error" not in lines
    return [parse(line) for line in lines]


def wrong_sides(points, smiles):
    """Double bonds outside of rings that are drawn on the wrong side."""
    molecule = Chem.MolFromSmiles(smiles)
    wrong = 0
    for bond in molecule.GetBonds():
        stereo = str(bond.GetStereo())
        if stereo not in ("STEREOE", "STEREOZ") or bond.IsInRing():
            continue
        start, end = points[bond.GetBeginAtomIdx()], points[bond.GetEndAtomIdx()]
        first, second = (turn(start, end, points[atom]) > 0 for atom in bond.GetStereoAtoms())
        wrong += (first == second) != (stereo == "STEREOZ")
    return wrong


def race(program, folder, smiles):
    """Molecules a second of both, in turns, layout alone, by time of the processor; the best of each."""
    path = Path(folder) / "race.txt"
    path.write_text("".join(line + "\n" for line in smiles))
    ours = subprocess.Popen([program, path, "speed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    molecules = [Chem.MolFromSmiles(line) for line in smiles]
    rdDepictor.SetPreferCoordGen(False)
    best, slowest = [float("inf"), float("inf")], float("inf")
    for _ in range(5):
        ours.stdin.write("go\n")
        ours.stdin.flush()
        took, longest = map(float, ours.stdout.readline().split())
        best[0], slowest = min(best[0], took), min(slowest, longest)
        start = time.process_time()
        for molecule in molecules:
            rdDepictor.Compute2DCoords(molecule)
        best[1] = min(best[1], time.process_time() - start)
    ours.stdin.close()
    ours.wait()
    speeds = [len(smiles) / seconds for seconds in best]
    print(
        f"{len(smiles)} molecules, one thread, time of the processor, best of 5 in turns: libattn {speeds[0]:.0f} molecules a second "
        f"(the slowest {1000 * slowest:.1f} ms), RDKit {rdBase.rdkitVersion} {speeds[1]:.0f}"
    )


def show_table(counts):
    print(f"{'':16} {'crossings':>10} {'overlaps':>10} {'molecules without':>18}")
    for name, found in counts.items():
        clean = sum(pair == (0, 0) for pair in found)
        crossings, overlaps = (sum(column) for column in zip(*found, strict=True))
        print(f"{name:16} {crossings:10} {overlaps:10} {clean:10} {100 * clean / len(found):5.1f} %")


def judge(program, folder, name, smiles):
    drawings = drawn_by_us(program, folder, smiles)
    wrong = sum(wrong_sides(points, line) for (points, _), line in zip(drawings, smiles, strict=True))
    print(f"{name}: {len(smiles)} molecules, {wrong} double bonds on the wrong side")
    counts = {
        "libattn": [defects(*drawing) for drawing in drawings],
        "RDKit": [defects(*drawn_by_rdkit(line, False)) for line in smiles],
        "RDKit CoordGen": [defects(*drawn_by_rdkit(line, True)) for line in smiles],
    }
    show_table(counts)
    if "--show" in sys.argv:
        worst = sorted(zip(counts["libattn"], counts["RDKit"], smiles, strict=True), key=lambda row: -sum(row[0]))
        for ours, theirs, line in worst[: int(sys.argv[sys.argv.index("--show") + 1])]:
            print(ours, theirs, line)
    sums = [[sum(column) for column in zip(*counts[name], strict=True)] for name in ("libattn", "RDKit")]
    clean = [sum(pair == (0, 0) for pair in counts[name]) for name in ("libattn", "RDKit")]
    return wrong > 0 or sums[0][0] > sums[1][0] or sums[0][1] > sums[1][1] or clean[0] < clean[1]


def main():
    RDLogger.DisableLog("rdApp.*")
    given = [word for word in sys.argv[1:] if not word.startswith("--") and not word.isdigit()]
    data = given[0] if given else os.environ.get("DATA")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        program = build_program("layout", folder)
        if "--speed" in sys.argv:
            if not data:
                raise SystemExit("--speed needs a folder with moleculenet in it")
            race(program, folder, choose(Path(data), "--all" in sys.argv))
            return
        failed |= judge(program, folder, "made", MADE)
        if data:
            failed |= judge(program, folder, "moleculenet", choose(Path(data), "--all" in sys.argv))
    print(f"drawings of molecules: judged by RDKit {rdBase.rdkitVersion}, {'FAILED' if failed else 'passed'}")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
