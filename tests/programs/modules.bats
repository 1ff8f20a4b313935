# Modules: what --module accepts and rejects, and sources of a module (examples/module.c).

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}"
    NOTES="$MCP_BUILD_DIR/examples/notes.so"
    cd "$BATS_TEST_TMPDIR"
}

initialize='{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}'

legacy() { # OPTIONS... -- MESSAGE...: prints the replies in the order of their ids, without that of the handshake
    local args=()
    while [ "$1" != -- ]; do args+=("$1"); shift; done
    shift
    printf '%s\n' "$initialize" "$@" | "$MCPD" "${args[@]}" | jq -sc 'map(select(.id != "i")) | sort_by(.id)'
}

request() { # METHOD PARAMS [ID]
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}' "${3:-1}" "$1" "$2"
}

module() { # NAME MEMBERS [SYMBOL]: builds NAME.so with an mcp_module of these members
    cat >"$1.c" <<END
#include <mcp/module.h>
extern const mcp_module ${3:-mcp_module_v1};
const mcp_module ${3:-mcp_module_v1} = {.size = sizeof(mcp_module), .abi = MCP_MODULE_ABI, $2};
END
    "${CC:-cc}" -shared -fPIC -I"$MCP_SOURCE_DIR/include" "$1.c" -o "$1.so"
}

refused() { # PATTERN ARGUMENT...: checks for exit status 1, an empty stdout, and PATTERN on stderr
    local pattern=$1
    shift
    run -1 --separate-stderr "$MCPD" "$@" </dev/null
    [ -z "$output" ]
    # shellcheck disable=SC2053 # it is a pattern
    [[ "$stderr" == $pattern ]] || { echo "$stderr"; return 1; }
}

@test "the example: listed in pages, read, in the order of the command line" {
    mkdir folder
    run -0 legacy --module "$NOTES" 'notes:milk,bread,a cake?name=shopping' folder --page-size 2 -- \
        "$(request resources/list '{}')" "$(request resources/read '{"uri":"notes://shopping/3"}' 2)" \
        "$(request resources/read '{"uri":"notes://shopping/4"}' 3)"
    [ "$(jq -r '.[0].result.resources | map(.name) | join("|")' <<<"$output")" = "milk|bread" ]
    [ "$(jq -r '.[1].result.contents[0].text' <<<"$output")" = "a cake" ]
    [ "$(jq -r '.[2].error.code' <<<"$output")" = -32002 ]
    cursor=$(jq -r '.[0].result.nextCursor' <<<"$output")
    run -0 legacy --module "$NOTES" 'notes:milk,bread,a cake?name=shopping' folder --page-size 2 -- \
        "$(request resources/list "{\"cursor\":\"$cursor\"}")"
    [ "$(jq -r '.[0].result.resources | map(.name) | join("|")' <<<"$output")" = "a cake|folder" ]
}

@test "README: the command for a host's entry prints the entry that it shows" {
    readme=$MCP_SOURCE_DIR/README.md
    for module in git postgres sqlite; do
        [ -e "$(find "$MCP_BUILD_DIR/programs" -name $module.so)" ] || skip "built without the module $module"
    done
    mkdir -p ada/notes ada/project ada/src/lib ada/data
    export HOME=$PWD/ada
    for repository in ada/project ada/src/lib; do
        git init -q -b main $repository
        git -C $repository -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
    done
    sqlite3 ada/data/shop.db 'CREATE TABLE sale(id INTEGER PRIMARY KEY)'
    command=$(awk '/^    mcpd --print-config claude .*git:/ { on = 1 } on { print } on && !/\\$/ { exit }' "$readme")
    # Use a host that needs no name lookup.
    eval "${command//host=db.example.org/host=/nowhere}" >entry
    shown=$(awk '/For Claude Desktop that is/ { near = 1 } near && /^```/ { if (on) exit; on = 1; next } on' "$readme")
    diff <(jq -c '.mcpServers.mcpd.args[]' entry) \
        <(jq -c '.mcpServers.mcpd.args[]' <<<"$shown" | sed "s|/home/ada|$PWD/ada|; s|host=db.example.org|host=/nowhere|")
    shown=$(awk '/over HTTP, here with a token/ { near = 1 } near && /^```/ { if (on) exit; on = 1; next } on' "$readme")
    echo ada:0123456789abcdef0123456789abcdef >tokens
    "$MCPD" --http 127.0.0.1:8642 --token-file tokens --print-config vscode ada/project >entry
    diff <(jq -S . entry) <(jq -S . <<<"$shown")
}

@test "~ in a source is expanded to the home folder, because the shell does not do it there" {
    [ -e "$(find "$MCP_BUILD_DIR/programs" -name sqlite.so)" ] || skip "there is no module in this build"
    mkdir home
    sqlite3 home/shop.db 'CREATE TABLE sale(id INTEGER PRIMARY KEY)'
    run -0 env HOME="$PWD/home" "$MCPD" 'sqlite:~/shop.db?name=x' --print-config claude
    [[ "$output" == *"\"sqlite:$PWD/home/shop.db?name=x\""* ]]
    run -1 env HOME= "$MCPD" 'sqlite:~/shop.db'
}

@test "options of a source are checked against the module's schema" {
    run -0 legacy --module "$NOTES" 'notes:a;b?separator=%3B' -- "$(request resources/list '{}')"
    [ "$(jq -r '.[0].result.resources[1].uri' <<<"$output")" = "notes://all/2" ]
    refused '*an option of notes: /separator*' --module "$NOTES" 'notes:a?separator=two'
    refused '*unknown property "sep"*"name", "separator"' --module "$NOTES" 'notes:a?sep=x'
    refused '*hexadecimal*' --module "$NOTES" 'notes:a?separator=%z'
    refused '*NAME=VALUE*' --module "$NOTES" 'notes:a?separator=x&more'
}

@test "a connection string that is a URI keeps its own query" {
    run -0 legacy --module "$NOTES" 'notes://db/a;b?sslmode=require&name=x&separator=%3B&host=h' -- \
        "$(request resources/read '{"uri":"notes://x/1"}')" "$(request resources/read '{"uri":"notes://x/2"}' 2)"
    [ "$(jq -r 'map(.result.contents[0].text) | join(" ")' <<<"$output")" = '//db/a b?sslmode=require&host=h' ]
    run -0 --separate-stderr "$MCPD" --print-config claude --module "$NOTES" 'notes://db/a?sslmode=require&name=x'
    [ "$(jq -r '.mcpServers.mcpd.args[-1]' <<<"$output")" = 'notes://db/a?sslmode=require&name=x' ]
    refused '*unknown property "sslmode"*' --module "$NOTES" 'notes:a?sslmode=require'
}

@test "the doctor and the check of a configuration say what a module describes" {
    run -0 --separate-stderr "$MCPD" --doctor --module "$NOTES" notes:a
    [[ "$output" == *"ok      source: notes:a: notes://all/"$'\n'* ]]
    cat >c.json <<END
{"module": "$NOTES", "sources": [{"module": "notes", "source": "a"},
 {"module": "notes", "source": "b"}]}
END
    run -1 --separate-stderr "$MCPD" --config c.json --check-config
    [ "$stderr" = "c.json:2:2: notes: another source has the prefix notes://all/" ]
}

@test "two sources of one module; a name cannot be used twice" {
    run -0 legacy --module "$NOTES" notes:a notes:b?name=other -- "$(request resources/list '{}')"
    [ "$(jq -r '.[0].result.resources | map(.uri) | join(" ")' <<<"$output")" = "notes://all/1 notes://other/1" ]
    refused '*notes://all/*already*' --module "$NOTES" notes:a notes:b
}

@test "a missing module: the searched folders, and the expected file name" {
    refused '*no module nope (/*/nope.so)*--list-modules*--module*./nope:*' nope:x
    refused '*no module postgresql: *postgres:*' postgresql://reader@db.example.org/shop
    refused '*no module https: *git:PATH*' https://example.org/project.git
    refused '*no module file: *path*' "file://$PWD"
    refused '*./none.so: No such file*' --module ./none.so x
    refused '*no module notes*' notes:a
    touch nope:x
    run -0 legacy ./nope:x -- "$(request resources/list '{}')"
    [[ "$output" == *'/nope:x"'* ]]
}

@test "a message from a module about a source names the module" {
    cat >picky.c <<'END'
#include <stdio.h>
#include <mcp/module.h>
static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name, mcp_error *error)
{
    (void)server, (void)options, (void)name;
    snprintf(error->text, sizeof error->text, "%s is not good", source);
    return MCP_EINVAL;
}
MCP_MODULE(picky, .mount = mount);
END
    "${CC:-cc}" -shared -fPIC -I"$MCP_SOURCE_DIR/include" picky.c -o picky.so
    refused 'mcpd: picky: this is not good' --module picky.so 'picky:this'
    refused 'mcpd: picky: of itself is not good' --module picky.so 'picky:picky: of itself'
    long=$(printf 'x%.0s' {1..300})
    refused 'mcpd: picky: xxx*' --module picky.so "picky:$long"
}

@test "a module of version 1 of the interface is loaded; members beyond its size are not read" {
    cat >old.c <<'END'
#include <mcp/module.h>
static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name, mcp_error *error)
{
    (void)options, (void)name;
    return mcp_server_add_resource(
        server, MCP_OPTIONS(mcp_resource, .uri = "old:it", .name = source, .text = source), NULL, error);
}
extern const mcp_module mcp_module_v1;
const mcp_module mcp_module_v1 = {.size = offsetof(mcp_module, check), .abi = 1, .version = "0", .name = "old",
    .mount = mount, .describe = (void *)1, .check = (void *)1};
END
    "${CC:-cc}" -shared -fPIC -I"$MCP_SOURCE_DIR/include" old.c -o old.so
    run -0 legacy --module old.so old:word -- "$(request resources/list '{}')"
    [ "$(jq -r '.[0].result.resources[0].name' <<<"$output")" = word ]
    run -0 --separate-stderr "$MCPD" --doctor --module old.so old:word
}

@test "an invalid module is rejected: symbol, interface, name, mount" {
    echo text >text.so
    refused '*cannot be loaded: */text.so: *' --module text.so .
    module symbol '.name = "x"' mcp_module_v2
    refused '*symbol.so is not a module for this program: it has no symbol mcp_module_v1*' --module symbol.so .
    module abi '.name = "x", .abi = 7'
    refused '*abi.so was built for version 7*this program takes versions 1 to 3*' --module abi.so .
    module zero '.name = "x", .abi = 0'
    refused '*zero.so was built for version 0*' --module zero.so .
    module small '.name = "x", .size = 8'
    refused '*small.so was built for*' --module small.so .
    module name '.name = "../x", .mount = (void *)1'
    refused '*name.so has no name of a-z and 0-9*' --module name.so .
    module mount '.name = "xx"'
    refused '*mount.so has no name*or no mount*' --module mount.so .
    echo 'int nowhere(void); int f(void); int f(void) { return nowhere(); }' >undefined.c
    "${CC:-cc}" -shared -fPIC undefined.c -o undefined.so
    refused '*cannot be loaded: *undefined.so*nowhere*' --module undefined.so .
}

@test "a name that is already in use is rejected" {
    cp "$NOTES" again.so
    refused '*again.so has a name that is taken: notes*' --module "$NOTES" --module ./again.so notes:a
}

@test "--print-config keeps modules and their sources" {
    cp "$NOTES" here.so
    run -0 --separate-stderr "$MCPD" --print-config claude --hidden --module here.so 'notes:a,b?name=x' .
    [ "$(jq -c '.mcpServers.mcpd.args' <<<"$output")" = \
        "[\"--hidden\",\"--resource-tools\",\"--module\",\"$PWD/here.so\",\"notes:a,b?name=x\",\"$PWD\"]" ]
}

@test "an installed tree that was moved finds its modules" {
    built=$(find "$MCP_BUILD_DIR/programs" -name sqlite.so)
    [ -n "$built" ] || skip "there is no module in this build"
    from_program=$(realpath --relative-to="$(dirname "$MCPD")" "$(dirname "$built")")
    mkdir -p moved/bin
    mkdir -p "moved/bin/$from_program"
    cp "$MCPD" moved/bin/
    cp "$NOTES" "moved/bin/$from_program/"
    MCPD=$PWD/moved/bin/mcpd
    run -0 legacy notes:a,b -- "$(request resources/list '{}')"
    [ "$(jq -r '.[0].result.resources[1].name' <<<"$output")" = b ]
    mv "moved/bin/$from_program/notes.so" "moved/bin/$from_program/other.so"
    refused '*other.so is the module notes*' other:a
}

@test "a module of this project that cannot be loaded: the error names its dependency" {
    built=$(find "$MCP_BUILD_DIR/programs" -name sqlite.so)
    [ -n "$built" ] || skip "there is no module in this build"
    from_program=$(realpath --relative-to="$(dirname "$MCPD")" "$(dirname "$built")")
    mkdir -p moved/bin "moved/bin/$from_program"
    cp "$MCPD" moved/bin/
    MCPD=$PWD/moved/bin/mcpd
    # The installation folder may contain an older module.
    run -1 --separate-stderr "$MCPD" git:none
    [[ "$stderr" == *"the module git is not installed ("*"MCP_MODULE_GIT=ON"*"libgit2-dev"* ||
        "$stderr" == "mcpd: git: none: No such file or directory" ]]
    echo text >"moved/bin/$from_program/git.so"
    refused '*cannot be loaded: */git.so: *' git:none
    [[ "$stderr" != *libgit2* ]]
    echo 'int gone(void); int gone(void) { return 0; }' >gone.c
    echo 'int gone(void); int used(void); int used(void) { return gone(); }' >used.c
    "${CC:-cc}" -shared -fPIC gone.c -o libgone.so
    "${CC:-cc}" -shared -fPIC used.c -L. -lgone -o "moved/bin/$from_program/git.so"
    rm libgone.so
    refused '*cannot be loaded: libgone.so: cannot open*[(]it needs libgit2)' git:none
    run -0 "$MCPD" --list-modules
    [[ "$output" == *"git:PATH"*"cannot be loaded"*libgone*libgit2*"postgres:CONNINFO"*"sqlite:FILE"* ]]
}

@test "--list-modules: the name and the meaning of an option do not touch" {
    run -0 "$MCPD" --list-modules
    run -1 grep -E '^ +[a-z_]+(=N|=TEXT|=true[|]false)[^ ]' <<<"$output"
}

@test "--list-modules: the sources and options of each module" {
    run -0 --separate-stderr "$MCPD" --list-modules --module "$NOTES"
    [ -z "$stderr" ]
    [[ "$output" == *"  notes:WHAT             The lines of a text"*"    separator=TEXT"* ]]
    for source in git:PATH postgres:CONNINFO sqlite:FILE; do
        [ ! -e "$(find "$MCP_BUILD_DIR/programs" -name "${source%:*}.so")" ] ||
            [[ "$output" == *"  $source "*"    name=TEXT"*"    timeout_ms=N "* ]]
    done
    refused '*./none.so: No such file*' --list-modules --module ./none.so
}

@test "a password in a source is never shown: instructions, doctor, configurations, log" {
    cat >c.json <<END
{"module": ["$NOTES"], "sources": [{"module": "notes", "source": "host=x password=s3cret user=y", "name": "n"}]}
END
    for source in "--module $NOTES notes:host=x%password=s3cret%user=y" "--config c.json"; do
        IFS=' ' read -ra words <<<"$source"
        words=("${words[@]//%/ }")
        for what in --doctor "--doctor --json" "--print-config mcpd" "--print-config claude"; do
            # shellcheck disable=SC2086
            run "$MCPD" $what "${words[@]}"
            [[ "$status" == 0 && "$output" != *s3cret* ]] || { echo "$what: $output"; return 1; }
        done
        printf '%s\n' "$initialize" | "$MCPD" "${words[@]}" >out
        instructions=$(jq -r .result.instructions out)
        [[ "$instructions" == *"- notes://"* && "$instructions" != *s3cret* && "$instructions" != *host* ]]
        : >log # remove the lines of the previous server
        "$MCPD" --http 127.0.0.1:0 "${words[@]}" 2>log 3>&- &
        for _ in {1..600}; do
            grep -q serving log && break
            sleep 0.1
        done
        kill $!
        wait $! || :
        grep -q 'serving notes:host=x .*user=y' log
        ! grep s3cret log
    done
}

@test "the instructions for the model say how the URIs of each source begin" {
    printf '%s\n' "$initialize" | "$MCPD" --module "$NOTES" notes:a 'notes:b?name=second&separator=;' . >out
    instructions=$(jq -r .result.instructions out)
    [[ "$instructions" == *$'\n- notes://all/ (notes)\n- notes://second/ (notes)\n- file://'"$PWD"$'\n'*resources/templates/list* ]]
    # what may follow the URI of a source, if its module says it
    if [ -e "$MCP_BUILD_DIR/programs/lib/mcp/sqlite.so" ]; then
        sqlite3 shop.db 'CREATE TABLE t(x)'
        instructions=$(printf '%s\n' "$initialize" | "$MCPD" sqlite:shop.db | jq -r .result.instructions)
        [[ "$instructions" == *$'\n- sqlite://shop/ (sqlite: '*$'shop.db): {table}, {table}/rows{?contains,limit,offset}, {table}/row{/key*}\n'* ]]
    fi
}

@test "mcpd is not linked with the library of any module" {
    ! ldd "$MCPD" | grep -E 'sqlite|git2|libpq'
}
