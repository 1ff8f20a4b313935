# packaging/registries: the packages of npm and PyPI, and the bundle of desktop hosts, made from programs that only say
# who they are, and installed without a network. packaging/check installs the real ones.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR"
    source=${MCP_SOURCE_DIR:?}
    mkdir -p static/x86_64 static/aarch64
    for machine in x86_64 aarch64; do
        for program in mcpd mcpctl; do
            printf '#!/bin/sh\necho "%s of %s:" "$@"; exit 7\n' "$program" "$machine" >static/$machine/$program
            chmod +x static/$machine/$program
            printf 'zlib\t1.3.1\tZlib\n' | "$source/packaging/parts-list" $program static/$machine/$program >static/$machine/$program.spdx.json
            echo "zlib: Copyright" >static/$machine/$program.licences.txt
        done
    done
    "$source/packaging/registries" '9.8.7~rc6' static made
    machine=$(uname -m)
    case $machine in x86_64) node=linux-x64 ;; aarch64) node=linux-arm64 ;; esac
    export npm_config_cache=$PWD/cache npm_config_offline=true npm_config_audit=false npm_config_fund=false
}

@test "the same input makes the same bytes" {
    touch static/*/*
    "$source/packaging/registries" '9.8.7~rc6' static again
    diff -r made again
}

@test "npm: the small package runs the program of this machine, and passes on words and exit code" {
    command -v npm >/dev/null || skip "npm is not installed (scripts/install-deps --interop)"
    mkdir project && cd project
    echo '{"name": "test", "version": "1.0.0"}' >package.json
    npm install --omit=optional ../made/npm/libmcp-mcpd-$node-9.8.7-rc.6.tgz ../made/npm/libmcp-mcpd-9.8.7-rc.6.tgz
    run -7 node_modules/.bin/mcpd 'a b' --c
    [ "$output" = "mcpd of $machine: a b --c" ]
    jq -e '.scripts == null' node_modules/@libmcp/mcpd*/package.json
    grep Copyright node_modules/@libmcp/mcpd-$node/LICENCES.txt
    # another machine: one line that says what to do
    rm -r node_modules/@libmcp/mcpd-$node
    run -1 node_modules/.bin/mcpd
    [[ "$output" == *"@libmcp/mcpd-$node is missing"* ]]
    run -1 node -e 'Object.defineProperty(process, "platform", {value: "win32"}); require("./node_modules/@libmcp/mcpd/run.js")'
    [[ "$output" == *"wsl -e mcpd"*"docker run -i --rm"* && ${#lines[@]} -eq 1 ]]
}

@test "PyPI: the wheel is chosen by the machine, and has the program and one of the package's name" {
    python3 -c 'import ensurepip' || skip "python3-venv is not installed (scripts/install-deps --interop)"
    python3 -m venv env
    env/bin/pip --disable-pip-version-check install -q --no-index --find-links made/pypi --pre libmcp-mcpd
    for name in mcpd libmcp-mcpd; do
        run -7 env/bin/$name 'a b'
        [ "$output" = "mcpd of $machine: a b" ]
    done
    grep Copyright env/lib/python3*/site-packages/libmcp_mcpd-*.dist-info/LICENCES.txt
    ln -s "$PWD/env/bin/libmcp-mcpd" linked # as uv and pipx do
    run -7 ./linked x
    rm made/pypi/*manylinux*
    python3 -m venv other
    other/bin/pip --disable-pip-version-check install -q --no-index --find-links made/pypi --pre libmcp-mcpd
    run -1 other/bin/mcpd
    [[ "$output" == *"wsl -e mcpd"* ]]
}

@test "the bundle runs its program, and only with folders; the registry's entry has its checksum" {
    mkdir bundle && cd bundle
    python3 -m zipfile -e ../made/mcpb/mcpd-$node-9.8.7-rc.6.mcpb .
    [ "$(jq -r '.server.mcp_config.command' manifest.json)" = '${__dirname}/server/mcpd' ]
    jq -e '.server.mcp_config.args == ["--resource-tools", "${user_config.folders}"] and .user_config.folders.multiple' manifest.json
    cmp server/mcpd ../static/$machine/mcpd
    grep Copyright LICENCES.txt
    # hosts unpack the mode from the archive
    python3 -c "import zipfile; assert zipfile.ZipFile('../made/mcpb/mcpd-$node-9.8.7-rc.6.mcpb').getinfo('server/mcpd').external_attr >> 16 == 0o100755"
    sum=$(sha256sum <../made/mcpb/mcpd-$node-9.8.7-rc.6.mcpb | cut -d' ' -f1)
    jq -e --arg sum "$sum" '[.packages[].fileSha256] | index($sum)' ../made/server.json
    jq -e '.description | length <= 100' ../made/server.json
}
