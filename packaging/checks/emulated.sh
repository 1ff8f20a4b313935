# emulated.sh: the static programs for aarch64 in qemu-user. For packaging/check.

# Files of tests that are about the sandbox, about sources in processes of their own, and about changes to files, which need
# openat2(). qemu-user has none of them, and a program that starts /proc/self/exe, as a static mcpctl does for browse and web, starts
# qemu. In the other files, mcpd has all sources in its own process, as
# tests/programs/support/near starts it. A single test with such a need is skipped if MCPD_EMULATED is set.
not_emulated='^(isolated|sandbox|failing|hung|absent|orphans|modules|writing|browse|mcpctl_web)$'

# Runs the rest of this script's check where the kernel starts programs for aarch64 with qemu. The identities of users stay.
in_namespace() { # COMMAND...
    mkfifo "$work/gate"
    unshare --user --mount --net --propagation private bash -c 'read -r <"$0" && ip link set lo up && mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc &&
        printf %s "$1" >/proc/sys/fs/binfmt_misc/register && shift && exec "$@"' "$work/gate" \
        ':aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64:F' "$@" &
    local inside=$!
    while [ "$(readlink /proc/$inside/ns/user)" = "$(readlink /proc/self/ns/user)" ]; do sleep 0.1; done
    echo '0 0 4294967295' >/proc/$inside/uid_map && echo '0 0 4294967295' >/proc/$inside/gid_map && echo >"$work/gate"
    wait $inside
}

transcripts() {
    local file out failed=0 n=0
    while read -r file; do
        n=$((n + 1))
        out=$("$folder/tests/tests/transcript_runner" "$file" 2>&1) || { echo "$file: $out"; failed=1; }
    done < <(find tests/transcripts -name '*.txt' | sort)
    [ $n -gt 50 ] && return $failed
}

unsandboxed() { # it says that there is no sandbox, and serves a repository only if it is told to do so without one
    says 'sandbox' "$folder/out/mcpd" --doctor "$work/lib" &&
        ! says 'first words' "$folder/out/mcpctl" read git://lib/-/log/HEAD -- "$folder/out/mcpd" "git:$work/lib" &&
        says 'first words' "$folder/out/mcpctl" read git://lib/-/log/HEAD -- "$folder/out/mcpd" --no-isolate "git:$work/lib"
}

check_emulated() {
    if [ -z "${MCP_EMULATED:-}" ]; then
        check "what the tests need is built" build_tests
        MCP_EMULATED=1 in_namespace "$tree/packaging/check" emulated "$folder" || red=1
        return
    fi
    git init -q "$work/lib"
    git -C "$work/lib" -c user.name=a -c user.email=a@b commit -q --allow-empty -m 'first words'
    check "mcpd names what it contains" says 'openssl 3.*sqlite3 3' "$folder/out/mcpd" --version --verbose
    check "without a sandbox it says so" unsandboxed
    check "transcripts" transcripts
    folder=$folder/out
    # a program without variables, because mcpd also runs below mcpd, which passes none on
    mkdir "$work/near"
    printf '#!/bin/sh\nMCPD_NEAR=%q exec %q "$@"\n' "$folder/mcpd" "$tree/tests/programs/support/near" >"$work/near/mcpd"
    chmod 755 "$work" "$work/near/mcpd"
    export MCPD_NEAR=$folder/mcpd MCPD_EMULATED=1
    MCPD=$work/near/mcpd
    all_tests "$not_emulated"
}
