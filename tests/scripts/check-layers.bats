# scripts/check-layers on trees of one file: what it accepts and what it rejects.

setup() {
    root=$BATS_TEST_TMPDIR
    mkdir -p "$root"/{scripts,cmake,src/json,include/mcp,programs/mcpd,providers/files,bus,examples}
    cp "$BATS_TEST_DIRNAME/../../scripts/check-layers" "$root/scripts/"
    cp "$BATS_TEST_DIRNAME/../../cmake/layers.txt" "$root/cmake/"
    cd "$root"
}

# passes FILE INCLUDE..., refuses FILE INCLUDE: write FILE with these #include lines and run the
# script.
passes() {
    local file=$1
    shift
    printf '#include %s\n' "$@" >"$file"
    run scripts/check-layers
    echo "$output"
    [ "$status" -eq 0 ]
}
refuses() {
    printf '/* first line */\n  #  include %s\n' "$2" >"$1"
    run scripts/check-layers
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == "$1:2: "* ]]
}

@test "a layer: itself, what is below it, its own library, ISO C" {
    passes src/json/x.c '"json/json.h"' '"json/room/view.h"' '"base/base.h"' '<mcp/json.h>' '<mcp/base.h>' '<yyjson.h>' '<math.h>'
}
@test "a layer: not what is above it" {
    refuses src/json/x.c '"server/server.h"'
    refuses src/json/x.c '"server/core/server.h"'
}
@test "a layer: not a public header from above" {
    refuses src/json/x.c '<mcp/server.h>'
}
@test "a layer: not another layer's library" {
    refuses src/json/x.c '<uv.h>'
}
@test "a layer: no POSIX but in io" {
    mkdir src/io
    passes src/io/x.c '<unistd.h>' '<sys/stat.h>' '<uv.h>'
    refuses src/json/x.c '<unistd.h>'
}
@test "a layer: headers are written with their layer" {
    refuses src/json/x.c '"json.h"'
}
@test "a layer: folders of a layer" {
    mkdir src/json/inner
    passes src/json/inner/x.c '"json/inner/inner.h"' '"json/json.h"' '"base/base.h"'
    refuses src/json/inner/x.c '"server/core/server.h"'
    refuses src/json/inner/x.c '"inner.h"'
}
@test "a folder that is not a layer" {
    mkdir src/other
    echo 'int x;' >src/other/x.c
    run scripts/check-layers
    [ "$status" -eq 1 ]
    [[ $output == *"src/other is no layer"* ]]
}
@test "a public header that belongs to no layer" {
    refuses src/json/x.c '<mcp/other.h>'
}
@test "public headers: each other and ISO C" {
    passes include/mcp/x.h '<mcp/base.h>' '<stddef.h>'
    refuses include/mcp/x.h '<yyjson.h>'
}
@test "programs: public headers, their own headers, a provider's public header" {
    touch programs/mcpd/own.h providers/files/files.h providers/files/inner.h
    passes programs/mcpd/x.c '<mcp/mcp.h>' '<unistd.h>' '"own.h"' '"files.h"'
    passes programs/mcpd/x.c '<files.h>'
    refuses programs/mcpd/x.c '"inner.h"'
    refuses programs/mcpd/x.c '<inner.h>'
}
@test "providers: what they share, which programs do not see" {
    mkdir -p "$root"/providers/{common,other}
    touch providers/common/shared.h providers/other/other.h
    passes providers/files/x.c '"shared.h"'
    refuses providers/files/x.c '"other.h"'
    refuses programs/mcpd/x.c '"shared.h"'
}
@test "programs, providers, examples: never src/" {
    for folder in programs/mcpd providers/files examples; do
        refuses $folder/x.c '"base/base.h"'
        rm $folder/x.c
    done
}
@test "a path with .." {
    mkdir src/base
    touch src/base/base.h
    refuses programs/mcpd/x.c '"../../src/base/base.h"'
}
@test "a provider: what providers share" {
    mkdir -p providers/common providers/search providers/other
    echo 'int x;' | tee providers/common/a.h providers/search/b.h >providers/other/c.h
    passes providers/files/x.c '"a.h"' '"b.h"'
    refuses providers/files/x.c '"c.h"'
}
