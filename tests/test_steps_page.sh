#!/bin/bash
# The page of steps in headless Chromium: numbers as they are seen, keys, rows and heads, printing, hostile names,
# nothing in the console and nothing asked for (tests/page/steps.py).
set -euo pipefail
: "${SOURCE_DIR:?}" "${BUILD_DIR:?}"

if ! command -v python3 >/dev/null || ! command -v chromium >/dev/null; then
    echo "skipped: there is no Chromium or no Python"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$BUILD_DIR/tests/test_steps" --page >"$folder/steps.html"
python3 "$SOURCE_DIR/tests/page/steps.py" "$folder/steps.html"
