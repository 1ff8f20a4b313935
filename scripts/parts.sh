# parts.sh: how long the parts of a run take. For bash scripts, which source it.
#
#   part NAME COMMAND...   runs the command and notes its seconds, and the seconds of processor time of it and of all that
#                          it waited for, in the file $parts
#
# A script that is started by another one that sources this file adds its parts to the same file.

if [ -z "${MCP_PARTS:-}" ]; then
    mkdir -p build
    MCP_PARTS=$(pwd)/build/parts
    : >"$MCP_PARTS"
    export MCP_PARTS
fi
parts=$MCP_PARTS

part() {
    local name=$1 status=0 spent
    shift
    echo "== $name"
    spent=$(mktemp)
    local TIMEFORMAT='%R %U %S'
    { time "$@" 2>&3 || status=$?; } 3>&2 2>"$spent"
    awk -v name="$name" '{ printf "%s\t%.0f\t%.0f\n", name, $1, $2 + $3 }' "$spent" >>"$parts"
    rm -f "$spent"
    return $status
}
