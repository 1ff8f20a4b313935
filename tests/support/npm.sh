# npm.sh: installs npm packages and a recent version of node, for scripts that run official programs.
# To be sourced by bash with `set -euo pipefail`:
#
#   npm_prepare FROM DIR   installs the packages of FROM/package.json to DIR/node_modules and sets $node;
#                          DIR is locked meanwhile
#
# Ends the script with status 77 and a message if npm is missing or the registry is unreachable. node is
# stored in $MCP_NODE_DIR (default: build/node), where all of these scripts find it.

node22=22.23.3
node_dir=${MCP_NODE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/node}

skip() { echo "skipped: $*"; exit 77; }

# If the network is unreachable, the tests are skipped. Any other error of npm is a failure.
npm_in() {
    local where=$1 log=$1/npm.log
    shift
    if (cd "$where" && npm "$@" --no-audit --no-fund --fetch-retries=1 --fetch-timeout=60000) \
        >"$log" 2>&1; then
        return
    fi
    if grep -Eq 'ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|E50[0-9]|SOCKET_TIMEOUT|ENOTCACHED|network' \
        "$log"; then
        skip "the npm registry cannot be reached"
    fi
    cat "$log" >&2
    exit 1
}

# Uses the system's node if it is recent enough, otherwise one from npm.
find_node() {
    local have arch
    have=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p') || have=
    if [ "${have:-0}" -ge 22 ]; then
        node=$(command -v node)
        return
    fi
    case $(uname -m) in
        x86_64) arch=x64 ;;
        aarch64) arch=arm64 ;;
        *) skip "node is older than 22, and npm has none for $(uname -m)" ;;
    esac
    mkdir -p "$node_dir"
    node_dir=$(cd "$node_dir" && pwd)
    node=$node_dir/node_modules/node-linux-$arch/bin/node
    exec 8>"$node_dir/lock"
    flock 8
    if [ "$("$node" --version 2>/dev/null)" != "v$node22" ]; then
        npm_in "$node_dir" install --no-save --ignore-scripts --prefix "$node_dir" \
            "node-linux-$arch@$node22"
    fi
    exec 8>&-
}

install_packages() { # from, dir
    local want
    want=$(cat "$1/package.json" "$1/package-lock.json" | cksum)
    [ "$(cat "$2/installed" 2>/dev/null)" = "$want" ] && return
    rm -f "$2/installed"
    cp "$1/package.json" "$1/package-lock.json" "$1/.npmrc" "$2/"
    npm_in "$2" ci --ignore-scripts
    echo "$want" >"$2/installed"
}

npm_prepare() { # from, dir
    command -v npm >/dev/null || skip "npm is not installed"
    mkdir -p "$2"
    exec 9>"$2/lock"
    flock 9
    find_node
    install_packages "$1" "$2"
    exec 9>&-
}
