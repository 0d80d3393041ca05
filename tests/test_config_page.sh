#!/bin/bash
# docs/config.md is what the program prints.
set -euo pipefail
: "${SOURCE_DIR:?}" "${ATTN_PROGRAM:?}"
"$SOURCE_DIR/tools/config-page" "$ATTN_PROGRAM" | diff - "$SOURCE_DIR/docs/config.md" || {
    echo "docs/config.md is not up to date: tools/config-page build/release/attn >docs/config.md" >&2
    exit 1
}
