# prepare.sh: installs or compiles the tested versions of the other SDKs and of Keycloak in $dir. It is sourced by
# the bash scripts run (for their clients) and servers (for their servers), and those of logins (oauth, walk, keycloak),
# which set $here, $dir, and $peer to one of the names below.
#
# sdk1 and sdk2 are the official Python SDK 1.x and 2.x, go the official Go SDK (go/go.mod), rmcp the official Rust SDK
# (rust/Cargo.toml); otlp is the schema of OpenTelemetry. The exit status is 77, and a reason is printed, when a registry or a compiler is out of reach.

declare -A versions=([sdk1]=mcp==1.30.0 [sdk2]=mcp==2.3.0 [fastmcp2]=fastmcp==2.14.7 [fastmcp3]=fastmcp==3.4.10
    [fastmcp4]=fastmcp==4.1.2 [otlp]=opentelemetry-proto==1.45.2)
declare -A alone=() # a package more, without those that it names

skip() { echo "skipped: $*"; exit 77; }

# Sets $python to the interpreter of a virtual environment with exactly the packages of the peer, made by $interpreter.
prepare_python() {
    local wanted=${versions[$peer]} last=${alone[$peer]:-} stamp=$dir/$peer/requirements
    exec 7>"$dir/$peer.lock"
    flock 7
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted${last:+ $last}" ]; then
        rm -rf "${dir:?}/$peer"
        "${interpreter:-python3}" -m venv "$dir/$peer" >"$dir/$peer.log" 2>&1 || skip "python3 -m venv does not work: see $dir/$peer.log"
        # shellcheck disable=SC2086 # several packages
        "$dir/$peer/bin/pip" install -q --disable-pip-version-check $wanted >"$dir/$peer.log" 2>&1 ||
            skip "pip cannot install $wanted: see $dir/$peer.log"
        [ -z "$last" ] || "$dir/$peer/bin/pip" install -q --disable-pip-version-check --no-deps "$last" >"$dir/$peer.log" 2>&1 ||
            skip "pip cannot install $last: see $dir/$peer.log"
        echo "$wanted${last:+ $last}" >"$stamp"
    fi
    exec 7>&-
    python=$dir/$peer/bin/python
}

# The examples of sdk1 and sdk2, which are in the source archives of the packages: sets $python and $examples.
prepare_examples() {
    prepare_python
    local from=$dir/$peer-examples
    exec 7>"$dir/$peer.lock"
    flock 7
    if [ "$(cat "$from/version" 2>/dev/null)" != "${versions[$peer]}" ]; then
        rm -rf "$from"
        mkdir "$from"
        "$dir/$peer/bin/pip" download -q --disable-pip-version-check --no-deps --no-binary :all: -d "$from" \
            "${versions[$peer]}" >"$dir/$peer.log" 2>&1 || skip "pip cannot fetch the examples: see $dir/$peer.log"
        # sdk2 does not need this for itself.
        "$dir/$peer/bin/pip" install -q --disable-pip-version-check --target "$from/packages" \
            pydantic-settings==2.16.3 >"$dir/$peer.log" 2>&1 ||
            skip "pip cannot install what the examples need: see $dir/$peer.log"
        tar -xzf "$from"/*.tar.gz -C "$from" --strip-components 1
        echo "${versions[$peer]}" >"$from/version"
    fi
    exec 7>&-
    examples=$from/examples/servers/simple-auth
}

# Keycloak, which Maven downloads from where its settings say (177 MB, Java 17 or newer): sets $keycloak to its folder.
prepare_keycloak() {
    local version=26.7.3 sha256=27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f to=$dir/keycloak tool zip
    for tool in java mvn unzip; do command -v $tool >/dev/null || skip "there is no $tool"; done
    mkdir -p "$to"
    exec 7>"$to.lock"
    flock 7
    keycloak=$to/keycloak-$version
    if [ ! -x "$keycloak/bin/kc.sh" ]; then
        zip=$to/keycloak-quarkus-dist-$version.zip
        mvn -q -B dependency:copy -Dartifact=org.keycloak:keycloak-quarkus-dist:$version:zip -DoutputDirectory="$to" \
            >"$to/maven.log" 2>&1 || skip "Maven cannot download Keycloak: see $to/maven.log"
        echo "$sha256  $zip" | sha256sum --check --quiet
        unzip -q -d "$to" "$zip"
        rm "$zip"
    fi
    exec 7>&-
}

# Sets $packages to the packages of npm, $node to a recent version of it, and goes to a new folder below $packages with the
# files that are named and support. The folder is removed at the end.
prepare_tests() {
    local status=0 installed
    installed=$("$here/../run" --install) || status=$?
    [ "$status" = 0 ] || { echo "$installed"; exit "$status"; }
    read -r packages node <<<"$installed"
    tests=$(mktemp -d "$packages/tests.XXXXXX")
    trap 'rm -rf "$tests"' EXIT
    cp -R "$@" "$here/../support" "$tests/"
    cd "$tests" || exit
}

# Sets $build to the first folder that has all of these files: $MCP_BUILD_DIR, or else the builds that have tests.
prepare_build() {
    local root file
    root=$(cd "$here/../../.." && pwd)
    for build in ${MCP_BUILD_DIR:+"$MCP_BUILD_DIR"} "$root"/build/{dev,asan-ubsan,release-tests}; do
        for file in "$@"; do [ -x "$build/$file" ] || continue 2; done
        return
    done
    echo "run: build $* first" >&2
    exit 1
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
