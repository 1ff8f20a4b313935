#!/bin/sh
# web.sh STRIP PROGRAM: tests the size of mcpctl-web as it is packaged: at most 2,500,000 bytes.
set -eu
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
"$1" -o "$stripped" "$2"
size=$(wc -c <"$stripped")
echo "mcpctl-web without symbols: $size bytes"
[ "$size" -gt 100000 ] && [ "$size" -le 2500000 ]
