#!/bin/bash
# The page of an explanation in a real browser: tests/page/test_page.py drives headless Chromium over the pages
# that test_page leaves.
set -euo pipefail
: "${SOURCE_DIR:?is the folder of the sources}" "${BUILD_DIR:?is the folder of the build}"
if [ -z "$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)" ]; then
    echo "the test needs Chromium: tools/dependencies test installs it" >&2
    exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ATTN_PAGE_FOLDER=$folder "$BUILD_DIR/tests/test_page" >"$folder/log" 2>&1 || {
    cat "$folder/log"
    exit 1
}
python3 "$SOURCE_DIR/tests/page/test_page.py" "$folder" ${ATTN_SCREENSHOTS:+"$ATTN_SCREENSHOTS"}
