# packages.sh: what packaging/registries made, with the clients of npm and PyPI. For packaging/check.

machine=$(uname -m)
case $machine in x86_64) node=linux-x64 ;; aarch64) node=linux-arm64 ;; esac

# clean COMMAND...: with a home of its own and no other mcpd on PATH.
clean() {
    env -i HOME="$home" PATH="$work/bin:/usr/bin:/bin" TERM=dumb npm_config_audit=false npm_config_fund=false "$@"
}

# new_user COMMAND...: it runs in a home that is empty, with the registries of a stand-in, whatever that leaves there.
new_user() {
    local home=$work/new
    rm -rf "$home"
    mkdir "$home"
    clean() {
        env -i HOME="$home" PATH="$work/bin:$work/uv/bin:/usr/bin:/bin" TERM=dumb npm_config_registry="$registry" UV_DEFAULT_INDEX="$registry/simple" "$@"
    }
    "$@"
}

# The commands of the README, word for word. What each one takes is the time to the first result.
readme_routes() {
    packaging/stand-in "$folder" >"$work/registry" &
    stand_in=$!
    eventually test -s "$work/registry"
    registry=$(cat "$work/registry")
    check "README, npx, a new user" new_user reads npx -y @libmcp/mcpd
    check "README, npx --install, a new user" new_user installs npx -y @libmcp/mcpd
    check "README, uvx, a new user" new_user reads uvx libmcp-mcpd
    kill $stand_in
    wait $stand_in 2>/dev/null
}

npm_project() {
    mkdir -p "$work/project" && cd "$work/project" && echo '{"name": "test", "version": "1.0.0"}' >package.json &&
        clean npm install --offline --omit=optional "$folder"/npm/libmcp-mcpd-$node-*.tgz "$folder"/npm/libmcp-mcpd-[0-9]*.tgz
}

npm_global() {
    clean npm install -g --offline --omit=optional --prefix "$work/global" "$folder"/npm/libmcp-mcpd-$node-*.tgz "$folder"/npm/libmcp-mcpd-[0-9]*.tgz
}

# reads PROGRAM WORD...: the program serves a folder.
reads() {
    says hello clean "$work/mcpctl" read "file://$work/data/hello.txt" -- "$@" "$work/data"
}

installs() { # PROGRAM WORD...: --install writes the absolute path of the program itself
    echo '{"mcpServers": {}}' >"$work/host.json"
    clean "$@" --install cursor --install-file "$work/host.json" --yes "$work/data" &&
        says hello clean "$work/mcpctl" read "file://$work/data/hello.txt" -- "$(jq -r .mcpServers.mcpd.command "$work/host.json")" "$work/data"
}

bundle_unpacks() {
    mkdir -p "$work/bundle" && cd "$work/bundle" && clean npx --prefix "$work/tools" mcpb unpack "$folder"/mcpb/mcpd-$node-*.mcpb .
}

bundle_reads() {
    cd "$work/bundle" && reads "$(jq -r .server.mcp_config.command manifest.json | sed "s|\${__dirname}|$PWD|")" "$(jq -r '.server.mcp_config.args[0]' manifest.json)"
}

newest_manifest() {
    says "\"$(jq -r .manifest_version "$work/bundle/manifest.json")\"" grep -r 'LATEST_MANIFEST_VERSION =' "$work/tools/node_modules/@anthropic-ai/mcpb/dist"
}

# server.json against the newest schema of the registry, which its sources have.
registry_entry() {
    local schemas
    mkdir -p "$work/go" && cd "$work/go" && echo 'module check' >go.mod &&
        schemas=$(go mod download -json github.com/modelcontextprotocol/registry@latest | jq -r .Dir)/internal/validators/schemas &&
        "$work/uv/bin/python" -c '
import json, pathlib, sys, jsonschema
entry = json.load(open(sys.argv[1]))
schema = json.loads(max(pathlib.Path(sys.argv[2]).glob("20*.json")).read_text())
assert entry["$schema"] == schema["$id"], schema["$id"]
jsonschema.validate(entry, schema)' "$folder/server.json" "$schemas"
}

check_packages() {
    home=$work/home
    mkdir -p "$work"/{home,data,bin,tools}
    echo hello >"$work/data/hello.txt"
    for name in npm npx node; do ln -sf "$(command -v $name)" "$work/bin/$name"; done
    python3 -m venv "$work/env"
    "$work/env/bin/pip" -q install --no-index --find-links "$folder/pypi" --pre libmcp-mcpctl
    cp "$work/env/bin/mcpctl" "$work/mcpctl"
    python3 -m venv "$work/uv" && "$work/uv/bin/pip" -q install uv pipx jsonschema
    check "npm install" npm_project
    check "npx" reads npx --prefix "$work/project" mcpd
    check "npx --install writes the program's path" installs npx --prefix "$work/project" mcpd
    check "npm install -g" npm_global
    check "the global program" reads "$work/global/bin/mcpd"
    check "uvx" reads "$work/uv/bin/uvx" --offline --no-index --prerelease allow --find-links "$folder/pypi" libmcp-mcpd
    check "uv tool install" clean "$work/uv/bin/uv" tool install --offline --no-index --prerelease allow --find-links "$folder/pypi" libmcp-mcpd
    check "its program" reads "$work/home/.local/bin/libmcp-mcpd"
    check "pipx" clean env PIPX_HOME="$work/pipx" PIPX_BIN_DIR="$work/pipx/bin" PIPX_DEFAULT_BACKEND=pip "$work/uv/bin/pipx" install \
        "$(echo "$folder"/pypi/libmcp_mcpd-*manylinux*"$machine"*.whl)"
    check "its program" reads "$work/pipx/bin/mcpd"
    check "the bundle's validator" npm --prefix "$work/tools" install --no-audit --no-fund @anthropic-ai/mcpb
    check "the bundle is unpacked" bundle_unpacks
    check "the bundle's command" bundle_reads
    check "its manifest" clean npx --prefix "$work/tools" mcpb validate "$work/bundle/manifest.json"
    check "its manifest is of the newest version" newest_manifest
    if command -v go >/dev/null; then
        check "server.json" registry_entry
    fi
    readme_routes
}
