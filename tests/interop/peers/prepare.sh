# prepare.sh: installs or compiles the tested versions of the other SDKs in $dir. It is sourced by
# the bash scripts run (for their clients) and servers (for their servers), which set $here, $dir,
# and $peer to one of the names below.
#
# sdk1 and sdk2 are the official Python SDK 1.x and 2.x, go the official Go SDK (go/go.mod), rmcp the official Rust SDK
# (rust/Cargo.toml). The exit status is 77, and a reason is printed, when a registry or a compiler is out of reach.

declare -A versions=([sdk1]=mcp==1.30.0 [sdk2]=mcp==2.3.0 [fastmcp2]=fastmcp==2.14.7 [fastmcp3]=fastmcp==3.4.10
    [fastmcp4]=fastmcp==4.1.2)

skip() { echo "skipped: $*"; exit 77; }

# Sets $python to the interpreter of a virtual environment with exactly the packages of the peer.
prepare_python() {
    local wanted=${versions[$peer]} stamp=$dir/$peer/requirements
    exec 7>"$dir/$peer.lock"
    flock 7
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        rm -rf "${dir:?}/$peer"
        python3 -m venv "$dir/$peer" >"$dir/$peer.log" 2>&1 || skip "python3 -m venv does not work: see $dir/$peer.log"
        # shellcheck disable=SC2086 # several packages
        "$dir/$peer/bin/pip" install -q --disable-pip-version-check $wanted >"$dir/$peer.log" 2>&1 ||
            skip "pip cannot install $wanted: see $dir/$peer.log"
        echo "$wanted" >"$stamp"
    fi
    exec 7>&-
    python=$dir/$peer/bin/python
}

# prepare_go PACKAGE PROGRAM
prepare_go() {
    command -v go >/dev/null || skip "there is no Go compiler"
    (cd "$here/go" && nice go build -o "$dir/$2" "$1") >"$dir/go.log" 2>&1 || skip "go build fails: see $dir/go.log"
}

# prepare_rust PROGRAM: $dir/rust/debug/PROGRAM
prepare_rust() {
    command -v cargo >/dev/null || skip "there is no Rust compiler"
    (cd "$here/rust" && nice cargo build --quiet --locked --target-dir "$dir/rust" --bin "$1") >"$dir/rmcp.log" 2>&1 ||
        skip "cargo build fails: see $dir/rmcp.log"
}
