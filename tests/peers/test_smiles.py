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
from collections import defaultdict
from pathlib import Path

from private import build_program
from rdkit import Chem, RDLogger, rdBase
from rdkit.Chem.Scaffolds import MurckoScaffold

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
    Chem.BondType.UNSPECIFIED: 0,
}
HYBRIDIZATIONS = {"SP": 1, "SP2": 2, "SP3": 3, "SP2D": 4, "SP3D": 4, "SP3D2": 4}


# Every construct, good and bad.
MADE = r"""
C(.C)C C(C.C)C .C C. C..C C((C)) C() C(=)C C= =C C- (C)C C1CC1 C%(100)CC%(100) C%1CC1 C%01CC1 C%12CC%12
C12CC1C2 C11 C1C1 C12CC12 C=1CC-1 C=1CC1 C1CC=1 C=1CC=1 C/1CC\1=C C:1CC1 C$C [U]$[U] C~C C->[Fe] [CH4]C [C]
[H][H] [H]C [2H]C [H+] [H-] [H]O[H] [H][H][H] C[H]C [H]* * [*H] C* [Og] [Rf] [Zz] [c] c cc c1cc1 c1ccc1
c1cccc1 c1ccccc1 [nH]1cccc1 n1cccc1 [n]1cccc1 o1cccc1 [se]1cccc1 [te]1cccc1 [as]1cccc1 [si]1ccccc1
[b]1ccccc1 b1ccccc1 p1ccccc1 C1=CC=CC=C1 C:C c:c C1:C:C:C:C:C1 c-c c1ccccc1c1ccccc1 c1ccccc1-c1ccccc1
C1ccccC1 CN(=O)=O C[N+](=O)[O-] CN=N#N CN=[N+]=[N-] OCl(=O)(=O)=O O=ClO OI(=O)=O CC(C)(C)(C)C
CP(C)(C)(C)(C)C CS(C)(C)(C)(C)(C)C [CH5] [NH4+] [NH5] [BH4-] B(C)(C)(C)C FCl(F)F I(C)(C)C ClCl(Cl)Cl
[Na+].[Cl-] [Na]Cl [Fe+2] [Fe] [Cu] C[Mg]Br C[Hg]C [C@H](F)(Cl)Br F[C@TH1H](Cl)Br F[C@@TH2H](Cl)Br
F[C@AL1](Cl)Br F[C@SP1](Cl)(Br)I S[As@TB1](F)(Cl)(Br)N S[Co@OH30](F)(Cl)(Br)(I)N S[Co@OH31](F)(Cl)(Br)(I)N
C[C@@@H](F)Cl [CH3:1]C [CH3:0]C [CH3:99999]C [CH3:01]C [13CH4] [0CH4] [013CH4] [999C] [1000C] [C+++] [C+3]
[C+10] [C+15] [C+16] [C-15] [C--] [C+-] [C++2] [CH10] [CH1] [CH0] [CHH] [HH] [HH1] [H2] [1H] [1H]C
[H]([H])[H] [OH3+] [SH6] [C H] C!C c1ccc2ccccc2c1 c1ccccc1(C) C(C C) C1CC C] C% C%1 C1% C%(1)CC%(1)
C%(12345)CC%(12345) C%(123456)CC%(123456) C0CC0 Al Si [Si] [al] [xe] [Xe] [Ln] D T [D] [T] [D]C [H]/C=C/F
[H]/C(F)=C/F [H]\C=C\[H] F/C=C/F [H:1]C [H-]C [H+]C [H][Na] [H][Fe] [H][C-] C[H-]C C [H]=C [H]/C=C [H]/N=C/C
[H]/N=C(C)C C/C=N/[H] [H]/C(C)=C [H][C@SP1](F)(Cl)Br [H][C@](F)(Cl)Br [H]1CC1 c1cc*cc1 *1cccc1 c1*ccc1
*1=CC=CC=C1 *1:*:*:*:*:*1 c1ccc:*:c1 [H][*] O=c1cc[nH]cc1 O=C1C=CNC=C1 C1=CC=C[CH+]C=C1 [C-]1C=CC=C1
[CH-]1C=CC=C1 C1=C[N+]=CC=C1 C1=CC2=CC=CC2=CC=C1 c1cccc2cccc2c1 C1=CC=CC=CC=C1 B1C=CC=C1 O=C1C=CC=CC=C1
S=C1C=CC=CC=C1 C=C1C=CC=CC=C1 C1=CSC=C1 C1=CS(=O)C=C1 O=S1(=O)C=CC=C1 C1=CC=C2C(=C1)C=CC=C2
C12=CC=CC=C1C=CC=C2 [O-][n+]1ccccc1 O=n1ccccc1 C[n+]1ccccc1 c1ccc2[nH]ccc2c1 O=C1NC(=O)C=CN1
Cn1c(=O)c2c(ncn2C)n(C)c1=O C1=CC(=O)C=CC1=O [Cu]n1ccccc1 C1=CC=N[Fe]1 N(C)(C)(C)[Fe] [Fe]1234C5=C1C2C3=C45
c1ccc2c(c1)ccc1ccccc12 C[S+](C)[O-] CS(C)=O C[S](C)(=O) [O] [OH] C[CH2] [CH3] [NH2] [CH2]C [Na] [Mg] [Al]
[Zn+2] [Zn] C[Zn]C [Pt](Cl)(Cl)(N)N Cl[Pt](Cl)([NH3])[NH3] [NH3][Pt] O=[N+]([O-])c1ccccc1 c1ccccc1N(=O)=O
CN(=O)=C C=N(C)(=O) CN(#N)=C P(=O)(=C)C CP(=O)=C CP(=O)=CC OBr(=O)=O [Cl](=O)(=O)(=O)[O-] O=I(=O)c1ccccc1
C1=CC=C[O+]=C1 c1cc[o+]cc1 [s+]1cccc1 c1cc[s+]cc1 C1=C[SH]=CC=C1 c1csnn1 c1ccsc1 C1=CC=C1 C1C=C1 O=C1C=C1
C1=C[CH+]1 [cH+]1cc1 N1C=CC=NC=C1 c1cnc2[nH]cnc2n1 C1=CN2C=CC=C2C=C1 c1ccn2cccc2c1 C1=CC2=CC=CC(=C1)C2
C12=C3C=CC=C1C=CC=C2C=C3 C1=Cc2cccc3cccc1c23 c1cc2ccc3cccc4ccc(c1)c2c34 [Te]1C=CC=C1 [SiH]1=CC=CC=C1
[AsH]1C=CC=C1 [GeH]1=CC=CC=C1 [H]n1cccc1 [2H]c1ccccc1 [H]c1ccccc1 CC C=C C#C CO C[NH3+] [CH3-] BrC(Cl)(F)I
B(O)O CS(=O)(=O)O CP(=O)(O)O S(F)(F)(F)(F)(F)F C1CCCCC1 c1ccncc1 c1cc[nH]c1 C1=CNC=C1 O=C1C=CC(=O)C=C1
[H]C([H])([H])[H] C1CC12CC2 C%10CC%10 C%(123)CC%(123) C=1CCC1 C1CCC=1 C1.C1 [NH3][Pt]Cl CC(C)(C)[N+]#[C-]
[SiH4] CI(C)C
[13CH3:7][C@@H](F)[N+](C)(C)[2H].[Fe+2].[S--] [Fe]123456789C%10C1C2C3C4%10.C%115C6C7C8C9%11
c12c3c4c5c1c1c6c7c2c2c8c3c3c9c4c4c%10c5c5c1c1c6c6c%11c7c2c2c7c8c3c3c8c9c4c4c9c%10c5c5c1c1c6c6c%11c2c2c7c3c3c8c4c4c9c5c1c1c6c2c3c41
c1cc2cc3ccc(cc4ccc(cc5ccc(cc1n2)[nH]5)n4)[nH]3 C12C3C4C1C5C2C3C45 C1CC2CCC1CC2 C1=CC2=CC=C1C=C2
""".split()

# SMILES of MADE that differ, and why; everything else must be the same.
EXPLAINED = {
    "C(.C)C": "OpenSMILES lets a branch begin with a dot, RDKit does not",
    "C%01CC1": "OpenSMILES: %01 is ring number 1",
    "[CH3:01]C": "OpenSMILES: a class is a number, with or without zeros in front",
    "[013CH4]": "so is an isotope",
    "C=1CC-1": "an error in OpenSMILES; RDKit takes the first of two ring bonds that disagree",
    "C~C": "a pattern, not a molecule",
    "C->[Fe]": "RDKit's own; dative bonds are perceived where a metal is bonded",
    "C:C": "an aromatic bond outside of rings",
    "*1:*:*:*:*:*1": "RDKit leaves aromatic bonds between atoms that are not aromatic",
    "[C+10]": "carbon has six electrons",
    "[C+15]": "carbon has six electrons",
    "[C+16]": "carbon has six electrons",
}


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
        (
            a.GetAtomicNum(),
            a.GetFormalCharge(),
            a.GetIsotope(),
            a.GetNumExplicitHs(),
            a.GetAtomMapNum(),
            int(a.GetIsAromatic()),
        )
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
        refusal = perceived.removeprefix("error ") if perceived.startswith("error ") else None
        graph = None
        if not refusal:
            atoms, bonds = parse_graph(perceived)
            graph = atoms, [(*bond[:5], int(bond[5] > 0)) for bond in bonds]
        result.append((None if written == "error" else parse_graph(written), graph, refusal, scaffold))
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


def race(program, folder, smiles):
    """Molecules a second of both, in turns; the best of each."""
    path = Path(folder) / "race.txt"
    path.write_text("".join(line + "\n" for line in smiles))
    ours = subprocess.Popen([program, path, "speed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    best = [float("inf"), float("inf")]
    for _ in range(7):
        ours.stdin.write("go\n")
        ours.stdin.flush()
        best[0] = min(best[0], float(ours.stdout.readline().split()[0]))
        start = time.perf_counter()
        for line in smiles:
            Chem.MolFromSmiles(line)
        best[1] = min(best[1], time.perf_counter() - start)
    ours.stdin.close()
    ours.wait()
    speeds = [len(smiles) / seconds for seconds in best]
    print(
        f"{len(smiles)} SMILES, one thread, best of 7 in turns: libattn {speeds[0]:.0f} molecules a second, "
        f"RDKit {rdBase.rdkitVersion} {speeds[1]:.0f}: {speeds[0] / speeds[1]:.1f} times as many"
    )


class Score:
    """How many of a list agree, by class; scaffolds are compared as groups."""

    def __init__(self, name):
        self.name, self.total, self.accepted = name, 0, 0
        self.classes, self.groups = defaultdict(list), []

    def add(self, smiles, ours):
        written, perceived, refusal, scaffold = ours
        self.total += 1
        theirs = written_by_rdkit(smiles), perceived_by_rdkit(smiles)
        if (perceived is None) != (theirs[1] is None):
            side = "refused by libattn" if refusal else "refused by RDKit"
            self.classes[side].append(f"{smiles} {refusal or ''}")
            return
        if written != theirs[0] and written and theirs[0]:
            self.classes["as written"].append(smiles)
        if perceived is None:
            return
        self.accepted += 1
        fields = differing_fields(perceived, theirs[1])
        if fields:
            self.classes[", ".join(sorted(fields))].append(smiles)
        murcko = MurckoScaffold.MurckoScaffoldSmiles(smiles=smiles, includeChirality=False)
        self.groups.append((scaffold, murcko))

    def same_scaffold(self):
        sides = [defaultdict(set), defaultdict(set)]
        for i, pair in enumerate(self.groups):
            for side, key in zip(sides, pair, strict=True):
                side[key].add(i)
        return sum(sides[0][a] == sides[1][b] for a, b in self.groups)

    def show(self):
        differing = sum(map(len, self.classes.values()))
        print(
            f"{self.name}: {self.total} SMILES, {self.accepted} accepted by both, {differing} differ, "
            f"scaffold groups of {self.same_scaffold()} are the same"
        )
        for name, smiles in self.classes.items():
            print(f"  {name}: {len(smiles)}")
            for line in smiles[:5]:
                print(f"    {line}")


def judge_made(program, folder):
    """Every made SMILES agrees, or is explained."""
    score, failed = Score("made"), 0
    for smiles, ours in zip(MADE, read_ours(program, folder, MADE), strict=True):
        one = Score(smiles)
        one.add(smiles, ours)
        score.accepted += one.accepted
        score.total += 1
        score.groups += one.groups
        if bool(one.classes) != (smiles in EXPLAINED):
            failed += 1
            print(f"failed: {smiles}: {dict(one.classes) or 'explained, but the same'}")
    counts = f"{score.accepted} accepted by both, {len(EXPLAINED)} explained, {failed} failed"
    print(f"made: {score.total} SMILES, {counts}")
    same = score.same_scaffold()
    if same != len(score.groups):
        print(f"failed: scaffold groups of {len(score.groups) - same} differ")
    return failed or same != len(score.groups)


def judge_set(program, folder, name, smiles):
    score = Score(name)
    for line, ours in zip(smiles, read_ours(program, folder, smiles), strict=True):
        score.add(line, ours)
    score.show()
    refusals = len(score.classes["refused by libattn"]) + len(score.classes["refused by RDKit"])
    written = len(score.classes["as written"])
    perceived = sum(map(len, score.classes.values())) - written - refusals
    return (
        refusals > 0
        or written > 0
        or perceived > 0.005 * score.total
        or score.same_scaffold() < 0.99 * len(score.groups)
    )


def main():
    RDLogger.DisableLog("rdApp.*")
    data = os.environ.get("DATA")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        program = build_program("smiles", folder)
        if "--speed" in sys.argv:
            if not data:
                raise SystemExit("--speed needs DATA=<folder> with moleculenet in it")
            race(program, folder, [line for name in RACE for line in read_set(Path(data), name)])
            return
        failed |= bool(judge_made(program, folder))
        for name in SETS if data else ():
            failed |= judge_set(program, folder, name, read_set(Path(data), name))
    print(f"SMILES: judged by RDKit {rdBase.rdkitVersion}, {'FAILED' if failed else 'passed'}")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
