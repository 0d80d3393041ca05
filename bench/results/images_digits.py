"""scikit-learn's digits as .npz files: images_digits.py FOLDER. The last 360 rows are the test part, the 200 before them dev."""
import os
import sys

import numpy
from sklearn.datasets import load_digits

folder = sys.argv[1]
digits = load_digits()
images, labels = digits.images.astype(numpy.uint8), digits.target.astype(numpy.int64)
for part, rows in (("train", slice(0, -560)), ("dev", slice(-560, -360)), ("test", slice(-360, None))):
    path = os.path.join(folder, f"digits-{part}.npz")
    numpy.savez(path + ".tmp.npz", x=images[rows], label=labels[rows])
    os.rename(path + ".tmp.npz", path)
