# mcpd --print-config and --install: the entry for each host, and that everything else in the host's
# file is kept.

bats_require_minimum_version 1.5.0

setup() {
    : "${MCPD:=mcpd}" "${MCPCTL:=mcpctl}"
    MCPD=${MCPD_NEAR:-$MCPD} # entries name the program itself
    cd "$BATS_TEST_TMPDIR"
    mkdir -p home/.config/{Claude,Code/User} home/.codeium home/.kiro served
    echo hello >served/hello.txt
    export HOME=$PWD/home XDG_CONFIG_HOME='' CODEX_HOME='' COPILOT_HOME=''
    hosts=$("$MCPD" --completion bash | grep -o 'claude-code .* zed' | head -1)
    program=$(realpath "$MCPD")
}

# files: lists the files below the home folder, and .mcp.json
files() { find home .mcp.json -type f 2>/dev/null | sort | tr '\n' ' '; }

install() { "$MCPD" --install "$@" --yes served </dev/null; }

# seen FILE: prints its text, and the files of the home folder
seen() {
    find home -mindepth 1 -printf '%p %i %m %s %T@\n' | sort
    [ ! -f "$1" ] || md5sum "$1"
}

# untouched FILE COMMAND...: checks that the command fails, prints the entry to paste, and changes
# neither the file nor its folder
untouched() {
    local file=$1 before
    shift
    before=$(seen "$file")
    run -1 --separate-stderr "$@"
    [ "$(seen "$file")" = "$before" ]
    [[ "$output" == *"$program"* && "$output" == *--resource-tools* ]] || { echo "$output"; return 1; }
}

@test "claude-code: the command for all projects can be pasted into a shell" {
    mkdir "it's here"
    claude() { printf '%s\n' "$@" >added; }
    run -0 --separate-stderr "$MCPD" --print-config claude-code --name 'my files' "it's here"
    eval "$(grep '^  claude mcp add' <<<"$stderr")"
    diff added <(printf '%s\n' mcp add --scope user 'my files' -- "$program" --name 'my files' --resource-tools "$PWD/it's here")
    echo ada:0123456789abcdef0123456789abcdef >tokens
    run -0 --separate-stderr "$MCPD" --print-config claude-code --http 127.0.0.1:8642 --token-file tokens served
    eval "$(grep '^  claude mcp add' <<<"$stderr")"
    diff added <(printf '%s\n' mcp add --scope user --transport http mcpd http://127.0.0.1:8642/mcp --header 'Authorization: Bearer TOKEN')
}

@test "each host has its entry, in the form of its own documentation" {
    [ "$(wc -w <<<"$hosts")" -eq 12 ]
    args="[\"--resource-tools\",\"$PWD/served\"]"
    while IFS='|' read -r host form; do
        run -0 --separate-stderr "$MCPD" --print-config "$host" served
        diff <(jq -cn --arg c "$program" --argjson a "$args" "$form") <(jq -c . <<<"$output") || { echo "$host"; return 1; }
        [ -n "$stderr" ]
    done <<'END'
claude|{mcpServers: {mcpd: {command: $c, args: $a}}}
claude-code|{mcpServers: {mcpd: {type: "stdio", command: $c, args: $a}}}
claude-desktop|{mcpServers: {mcpd: {command: $c, args: $a}}}
copilot|{mcpServers: {mcpd: {type: "local", command: $c, args: $a, tools: ["*"]}}}
cursor|{mcpServers: {mcpd: {command: $c, args: $a}}}
gemini|{mcpServers: {mcpd: {command: $c, args: $a}}}
kiro|{mcpServers: {mcpd: {command: $c, args: $a}}}
lmstudio|{mcpServers: {mcpd: {command: $c, args: $a}}}
opencode|{mcp: {mcpd: {type: "local", command: ([$c] + $a), enabled: true}}}
vscode|{servers: {mcpd: {type: "stdio", command: $c, args: $a}}}
windsurf|{mcpServers: {mcpd: {command: $c, args: $a}}}
zed|{context_servers: {mcpd: {command: $c, args: $a, source: "custom"}}}
END
    run -0 --separate-stderr "$MCPD" --print-config codex --name 'a "b"' served
    diff - <(printf '%s\n' "$output") <<END
[mcp_servers."a \\"b\\""]
command = "$program"
args = ["--name", "a \\"b\\"", "--resource-tools", "$PWD/served"]
END
}

@test "each host has its entry over HTTP, or an error that HTTP is not supported" {
    echo 'ada:token-of-ada' >tokens
    chmod 600 tokens
    while IFS='|' read -r host form; do
        run -0 --separate-stderr "$MCPD" --print-config "$host" --http 127.0.0.1:99 --token-file tokens served
        diff <(jq -cn --arg u http://127.0.0.1:99/mcp --argjson h '{"Authorization":"Bearer TOKEN"}' "$form") \
            <(jq -c '.[].mcpd' <<<"$output") || { echo "$host"; return 1; }
    done <<'END'
claude-code|{type: "http", url: $u, headers: $h}
copilot|{type: "http", url: $u, headers: $h, tools: ["*"]}
cursor|{url: $u, headers: $h}
gemini|{httpUrl: $u, headers: $h}
kiro|{url: $u, headers: $h}
lmstudio|{url: $u, headers: $h}
opencode|{type: "remote", url: $u, headers: $h, enabled: true}
vscode|{type: "http", url: $u, headers: $h}
windsurf|{serverUrl: $u, headers: $h}
zed|{url: $u, headers: $h}
END
    run -0 --separate-stderr "$MCPD" --print-config codex --http 127.0.0.1:99 --token-file tokens served
    [ "$output" = $'[mcp_servers.mcpd]\nurl = "http://127.0.0.1:99/mcp"\nbearer_token_env_var = "MCPD_TOKEN"' ]
    run -1 --separate-stderr "$MCPD" --print-config claude-desktop --http 127.0.0.1:99 served
    [[ -z "$output" && "$stderr" == *"supports only commands"* ]]
}

@test "the option for resource tools is added once, and not if the user disabled them" {
    for options in --resource-tools '--resource-tools --hidden'; do
        [ "$("$MCPD" --print-config cursor $options served 2>/dev/null | grep -o -e --resource-tools | wc -l)" -eq 1 ]
    done
    [ "$("$MCPD" --print-config cursor --no-resource-tools served 2>/dev/null | jq -c .mcpServers.mcpd.args)" = \
        "[\"--no-resource-tools\",\"$PWD/served\"]" ]
    for decided in resource-tools no-resource-tools; do
        printf '{"sources": ["served"], "%s": true}' $decided >c.json
        [ "$("$MCPD" --print-config cursor --config c.json 2>/dev/null | jq -c .mcpServers.mcpd.args)" = "[\"--config\",\"$PWD/c.json\"]" ]
    done
    printf '{"sources": ["served"]}' >c.json
    "$MCPD" --print-config cursor --config c.json 2>/dev/null | grep -q -e --resource-tools
}

@test "--install: creates each host's file, private to the user; a second run changes nothing" {
    for host in $hosts; do
        run -0 --separate-stderr install "$host"
        [[ "$output" == *"a new file:"*"+ "*"$program"*$'\nwritten' ]] || { echo "$host: $output"; return 1; }
    done
    while read -r file key; do
        [ "$(stat -c %a "$file")" = 600 ]
        jq -e --arg key "$key" '.[$key].mcpd.command | length > 0' "$file" >/dev/null || { echo "$file"; return 1; }
    done <<'END'
.mcp.json mcpServers
home/.config/Claude/claude_desktop_config.json mcpServers
home/.copilot/mcp-config.json mcpServers
home/.cursor/mcp.json mcpServers
home/.gemini/settings.json mcpServers
home/.kiro/settings/mcp.json mcpServers
home/.lmstudio/mcp.json mcpServers
home/.config/opencode/opencode.json mcp
home/.config/Code/User/mcp.json servers
home/.codeium/windsurf/mcp_config.json mcpServers
home/.config/zed/settings.json context_servers
END
    [ "$(stat -c %a home/.codex/config.toml)" = 600 ]
    [ "$(files | wc -w)" -eq 12 ]
    # and the written command can be started in any folder
    mapfile -t command < <(jq -r '.mcpServers.mcpd | .command, .args[]' home/.cursor/mcp.json)
    (cd / && XDG_STATE_HOME=$BATS_TEST_TMPDIR/state "$MCPCTL" ls -- "${command[@]}") | grep -q '/served/hello.txt$'
    for host in $hosts; do
        [ "$host" = codex ] || [[ "$(install "$host")" == *"has this entry already" ]]
    done
    [ "$(files | wc -w)" -eq 12 ]
    XDG_CONFIG_HOME=$PWD/elsewhere CODEX_HOME=$PWD/codex run -0 install codex
    [ -f codex/config.toml ]
}

@test "--install: keeps everything else byte for byte, makes a backup and keeps the permissions" {
    mkdir home/.config/zed
    file=home/.config/zed/settings.json
    n=0
    while IFS= read -r text; do
        printf '%b' "$text" >$file
        cp $file before
        chmod 640 $file
        install zed >out 2>&1
        # Text was inserted in one place: compare the text before and after it.
        same=$(cmp before $file | sed 's/.* byte \([0-9]*\),.*/\1/')
        rest=$(($(wc -c <before) - same + 1))
        cmp <(tail -c $rest before) <(tail -c $rest $file)
        cmp before "$file.before-mcpd$([ $n -eq 0 ] || echo "-$((n + 1))")"
        [ "$(stat -c %a $file)" = 640 ]
        [ "$(stat -c %a $file.before-mcpd)" = 640 ]
        run -0 install zed
        [[ "$output" == *"has this entry already"* ]] || { cat $file; return 1; }
        n=$((n + 1))
    done <<'END'
{}
{\n}
{"theme":"One"}
// Zed settings\n{\n  // of Ada\n  "theme": "One", /* dark { */\n  "tabs": [1,\n 2,],\n}\n
{\n\t"context_servers": {},\n\t"x": "}\\"{"\n}
{\n  "context_servers": { // mine\n    "other": {"command": "x", "args": [],},\n  }, "y": {"context_servers": {}}\n}
\n\n  { "y": {"mcpd": 1}, "context_servers":\n{\n/* none */ } }
{\r\n  "a": 1\r\n}\r\n
END
    [ $n -eq 8 ]
}

@test "--install: replaces only an entry of the same name, and shows both" {
    mkdir home/.cursor
    file=home/.cursor/mcp.json
    printf '{\n  "mcpServers": {\n    "a": {"command": "a"}, // first\n    "mcpd": {"command": "old", "env": {"X": "}"}},\n    "z": {"command": "z"}\n  }\n}\n' >$file
    run -0 --separate-stderr install cursor
    [[ "$output" == *$'line 4:\n- {"command": "old", "env": {"X": "}"}}\n+ {\n+       "command": '* ]]
    [ "$(sed 's|//.*||' $file | jq -c '[.mcpServers | .a, .z, .mcpd.args[0], (keys_unsorted)]')" = \
        '[{"command":"a"},{"command":"z"},"--resource-tools",["a","mcpd","z"]]' ]
    grep -q '// first$' $file
    run -0 install cursor --name other
    [ "$(sed 's|//.*||' $file | jq -c '.mcpServers | keys')" = '["a","mcpd","other","z"]' ]
}

@test "--install: does not edit a file that it cannot edit safely, and prints the reason and the entry to paste" {
    mkdir home/.cursor
    file=home/.cursor/mcp.json
    while IFS='|' read -r text why; do
        printf '%b\n' "$text" >$file
        untouched $file install cursor
        [[ "$stderr" == *"$why"* && "$stderr" == *"add this entry yourself"* ]] || { echo "$text: $stderr"; return 1; }
    done <<'END'
{"a": 1|it is not JSON
{\n  "a": nope}|line 2, column 8
[]|is not an object
{"mcpServers": []}|mcpServers in it is not an object
{"a": 1, "a": 2}|twice
{"mcpServers": {"mcpd": 1}, "mcpServers": {}}|twice
{"mcp\\u0053ervers": {}}|cannot be edited safely
{"mcpServers": {"mcp\\u0064": {}}}|cannot be edited safely
{"a": "\0"}|NUL
END
    rm $file
    echo '{}' >home/target
    ln -s ../target $file
    untouched home/target install cursor
    [[ "$stderr" == *"symbolic link"* ]]
    rm $file
    mkfifo $file
    untouched none install cursor
    rm $file
    mkdir $file
    untouched none install cursor
    rm -r home/.codeium
    untouched none install windsurf
    [[ "$stderr" == *"is Windsurf installed?"* ]]
}

@test "--install: appends a table to TOML, unless the table may already exist" {
    mkdir home/.codex
    file=home/.codex/config.toml
    printf '# mcp_servers of Ada\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "o"' >before
    cp before $file
    run -0 --separate-stderr install codex
    diff - $file <<END
$(cat before)

[mcp_servers.mcpd]
command = "$program"
args = ["--resource-tools", "$PWD/served"]
END
    cmp before $file.before-mcpd
    while IFS='|' read -r text why; do
        printf '%b\n' "$text" >$file
        untouched $file install codex
        [[ "$stderr" == *"$why"* ]] || { echo "$text: $stderr"; return 1; }
    done <<'END'
[mcp_servers.mcpd]|it has a server mcpd
  [mcp_servers.mcpd.env]|it has a server mcpd
[mcp_servers."mcpd"]|cannot be edited safely
[ mcp_servers . mcpd ]|cannot be edited safely
[mcp_servers]|cannot be edited safely
["mcp\\u005fservers".mcpd]|cannot be edited safely
mcp_servers = {}|cannot be edited safely
mcp_servers.mcpd.command = "x"|cannot be edited safely
END
    printf '[mcp_servers.mcpd2]\n' >$file
    run -0 install codex
}

# on_terminal SCRIPT COMMAND...: runs the command on a terminal and types the output of SCRIPT at
# its prompt
on_terminal() {
    local script=$1 line
    shift
    printf -v line '%q ' "$@"
    : >shown
    { for ((i = 0; i < 3000; i++)); do
        ! grep -q 'Write it?' shown || break
        sleep 0.02
    done; eval "$script"; } | SHELL=/bin/bash script -qefc "$line" shown
}

@test "--install asks, and writes only after yes; a file that changed meanwhile is not overwritten" {
    mkdir home/.cursor
    file=home/.cursor/mcp.json
    echo '{}' >$file
    run -2 "$MCPD" --install cursor served </dev/null
    [[ "$output" == *"--yes writes without confirmation"* ]]
    for answer in n '' nope; do
        run -1 on_terminal "echo '$answer'" "$MCPD" --install cursor served
        [[ "$output" == *"+ "*"nothing was written"* ]]
        [ "$(files)" = "$file " ] && [ "$(cat $file)" = '{}' ]
    done
    run -1 on_terminal "echo '{ }' >$file; echo y" "$MCPD" --install cursor served
    [[ "$output" == *"it was changed meanwhile; nothing was written"* ]]
    [ "$(cat $file)" = '{ }' ]
    run -0 on_terminal 'echo y' "$MCPD" --install cursor served
    jq -e .mcpServers.mcpd $file
    [ -z "$(find home -name '.mcpd-*')" ]
}

# via WAY SOURCE...: the words of the entry, in a line
via() { "$MCPD" --print-config cursor --via "$@" 2>error | jq -r '.mcpServers.mcpd | [.command] + .args | join(" ")'; }

@test "--via: the command of a package, of the image, or for a host on Windows; the paths stay as they are" {
    local version mount
    version=$("$MCPD" --version | sed -n '1s/.* //p')
    python3 -c 'import sqlite3; sqlite3.connect("shop.db").execute("create table a(b)")'
    [ "$(via path served)" = "$program --resource-tools $PWD/served" ]
    [ "$(via npx served)" = "npx -y @libmcp/mcpd@${version/\~rc/-rc.} --resource-tools $PWD/served" ]
    [ "$(via uvx served)" = "uvx libmcp-mcpd@${version/\~rc/rc} --resource-tools $PWD/served" ]
    [ "$(WSL_DISTRO_NAME='My Debian' via wsl served)" = "wsl.exe -d My Debian -e $program --resource-tools $PWD/served" ]
    [ "$(WSL_DISTRO_NAME='' via wsl served)" = "wsl.exe -e $program --resource-tools $PWD/served" ]
    mount="type=bind,source=$PWD/served,target=$PWD/served,readonly --mount type=bind,source=$PWD,target=$PWD,readonly"
    [ "$(via docker served 'sqlite:shop.db?name=shop')" = "docker run -i --rm --cap-drop ALL --security-opt no-new-privileges \
--read-only --network none --mount $mount ghcr.io/libmcp/mcpd:${version/\~rc/-rc.} --resource-tools $PWD/served sqlite:$PWD/shop.db?name=shop" ]
    # what needs the network has it
    [[ "$(via docker served 'mcp:https://files.example/mcp')" != *--network* ]]
    mkdir 'a,b'
    [ -z "$(via docker 'a,b')" ]
    grep "because of its comma" error
    echo '{"mcpServers": {}}' >servers.json
    [ -z "$(via docker served --servers servers.json)" ]
    grep "has no programs of other servers" error
    run -2 "$MCPD" --via npx served
    [[ "$output" == *"--via belongs to --print-config and --install"* ]]
}

@test "--install-file, and options that exclude each other" {
    echo '{"mcpServers": {}}' >mine.json
    run -0 install claude-code --install-file mine.json
    jq -e .mcpServers.mcpd mine.json
    [ ! -e .mcp.json ]
    run -2 install claude
    [[ "$output" == *"claude-code or claude-desktop"* ]]
    run -2 "$MCPD" --yes served
    run -2 "$MCPD" --install nohost served
    run -1 "$MCPD" --install cursor --yes none
    [ ! -e home/.cursor ]
}
