# static.sh: the static programs, in an empty folder as the root. For packaging/check.

# root COMMAND...: runs it with an empty folder as the root, which has the programs, some data, /proc and /dev/null.
root() {
    unshare --mount --map-root-user --fork --kill-child --pid --mount-proc="$work/root/proc" -- \
        sh -c 'mount --bind /dev/null "$0/dev/null" && exec chroot "$0" "$@"' "$work/root" "$@"
}

make_root() {
    mkdir -p "$work/root"/{data,dev,proc,tmp,etc}
    : >"$work/root/dev/null"
    cp "$folder/mcpd" "$folder/mcpctl" "$work/root/"
    echo hello >"$work/root/data/hello.txt"
    sqlite3 "$work/root/data/shop.db" 'create table item(id integer primary key, name text); insert into item values(1, "pen")'
    git init -q "$work/root/data/lib"
    git -C "$work/root/data/lib" -c user.name=a -c user.email=a@b commit -q --allow-empty -m 'first words'
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/root/key.pem" -out "$work/root/cert.pem" -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,DNS:box,IP:127.0.0.1 2>/dev/null
}

without_certificates() { (unset SSL_CERT_FILE && root "$@"); }

# with_tls COMMAND...: while mcpd serves the data over TLS.
with_tls() {
    root /mcpd --http 127.0.0.1:18642 --allow-host box --tls-cert /cert.pem --tls-key /key.pem /data >/dev/null 2>"$work/log" &
    local server=$! rc
    eventually answers_tls && "$@"
    rc=$?
    kill -KILL $server # unshare ignores the others
    wait $server 2>/dev/null
    [ $rc -eq 0 ] || cat "$work/log"
    return $rc
}
answers_tls() { [ "$(curl -sk https://127.0.0.1:18642/healthz -o /dev/null -w '%{http_code}')" = 200 ]; }

over_tls() {
    SSL_CERT_FILE=/cert.pem root /mcpctl read file:///data/hello.txt -s https://127.0.0.1:18642/mcp &&
        says 'install ca-certificates' without_certificates /mcpctl read file:///data/hello.txt -s https://127.0.0.1:18642/mcp
}

# Where Debian (also Arch and Alpine), Fedora, openSUSE (two places) and Alpine have the certificates of authorities.
bundles='etc/ssl/certs/ca-certificates.crt etc/pki/tls/certs/ca-bundle.crt etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem
    etc/ssl/ca-bundle.pem var/lib/ca-certificates/ca-bundle.pem etc/ssl/cert.pem'
with_bundles() {
    local file rc=0
    for file in $bundles; do
        install -D -m 644 "$work/root/cert.pem" "$work/root/$file"
        says hello without_certificates /mcpctl read file:///data/hello.txt -s https://127.0.0.1:18642/mcp || { echo "$file"; rc=1; }
        rm "$work/root/$file"
    done
    return $rc
}

# A name of one word, for which only the search domain has an address.
by_search_domain() {
    local rc
    printf 'search example.test\nnameserver 127.0.0.1\n' >"$work/root/etc/resolv.conf"
    python3 -c '
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
while True:
    q, peer = s.recvfrom(512)
    end = q.index(0, 12) + 5
    found = q[12:end - 4] == b"\3box\7example\4test\0"
    a = found and q[end - 4:end - 2] == b"\0\1"
    head = q[:2] + struct.pack(">5H", 0x8180 if found else 0x8183, 1, a, 0, 0)
    s.sendto(head + q[12:end] + (b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1" if a else b""), peer)' &
    local server=$!
    SSL_CERT_FILE=/cert.pem says hello root /mcpctl read file:///data/hello.txt -s https://box:18642/mcp
    rc=$?
    kill $server
    wait $server 2>/dev/null
    rm "$work/root/etc/resolv.conf"
    return $rc
}

# The browser is outside of the empty folder, where a person has it.
over_oauth() {
    tests/programs/support/gatehouse >"$work/gate" 2>/dev/null &
    local server=$! rc url
    eventually test -s "$work/gate"
    url=$(cat "$work/gate")
    export HOME=/tmp
    root /mcpctl login "$url" </dev/null >"$work/login" 2>&1 &
    local login=$!
    eventually grep -q '/authorize?' "$work/login" && curl -sL -o /dev/null "$(grep -o 'http[^ ]*/authorize?[^ ]*' "$work/login")" &&
        wait $login && says 'you are in' root /mcpctl read mem:secret -s "$url"
    rc=$?
    kill -KILL $login 2>/dev/null
    kill $server
    wait $server 2>/dev/null
    [ $rc -eq 0 ] || cat "$work/login"
    return $rc
}

with_database_server() {
    local server=tests/providers/postgres/server dir=$work/root/pg rc
    $server make "$dir" && $server start "$dir" &&
        psql -q -h "$dir" -U postgres -c "create table item(id int primary key, name text); insert into item values(1, 'pen');
            create role reader login; grant select on item to reader" &&
        says pen root /mcpctl read postgres://shop/public/item/rows -- /mcpd 'postgres:host=/pg dbname=postgres user=reader?name=shop'
    rc=$?
    $server remove "$dir"
    return $rc
}

# A text in a charset that musl's iconv lacks (EBCDIC) is served as bytes, and the charset is named.
other_charset() {
    local lib=$work/root/data/lib
    git -C "$lib" config i18n.commitEncoding IBM500
    printf 'odd words' | iconv -t IBM500 >"$work/message"
    git -C "$lib" -c user.name=a -c user.email=a@b commit -q --allow-empty -F "$work/message"
    git -C "$lib" config --unset i18n.commitEncoding
    says IBM500 root /mcpctl read git://lib/-/commit/HEAD -- /mcpd git:/data/lib
}

# The process of a source cannot do what the sandbox forbids: the kernel has its filter and its rules.
sandboxed() {
    local rc
    mkfifo "$work/requests"
    root /mcpd git:/data/lib <"$work/requests" >"$work/answers" 2>"$work/log" &
    local server=$!
    exec 8>"$work/requests"
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"git://lib/-/log/HEAD"}}' >&8
    eventually grep -q 'first words' "$work/answers" && confined $server
    rc=$?
    exec 8>&-
    wait $server 2>/dev/null
    [ $rc -eq 0 ] || cat "$work/log" "$work/answers"
    return $rc
}
confined() { # of the processes below this one, that of the source has a filter of system calls
    local pid
    for pid in $(below "$1"); do
        ! grep -q '^Seccomp:.*2' /proc/$pid/status || return 0
    done
    return 1
}
below() {
    local pid
    for pid in $(pgrep -P "$1"); do
        echo "$pid"
        below "$pid"
    done
}

check_static() {
    local name
    if [ -z "${MCP_ALONE:-}" ]; then
        check "what the tests need is built" build_tests
        alone static "$folder" || red=1
        return
    fi
    chmod 755 "$work"
    make_root
    for name in mcpd mcpctl; do
        check "$name needs no loader" bash -c '! readelf -l "$0" | grep -q INTERP' "$folder/$name"
        check "$name has no path of this machine" bash -c '! grep -q "$1\|/build/static" "$0"' "$folder/$name" "$tree"
    done
    check "mcpd has at most 12 MB" test "$(stat -c %s "$folder/mcpd")" -le $((12 << 20))
    check "it names what it contains" says 'openssl 3.*sqlite3 3' root /mcpd --version --verbose
    check "a folder" says hello root /mcpctl read file:///data/hello.txt -- /mcpd /data
    check "a repository" says 'first words' root /mcpctl read git://lib/-/log/HEAD -- /mcpd git:/data/lib
    check "a text in a charset that musl lacks" other_charset
    check "a database" says pen root /mcpctl read sqlite://shop/item/rows -- /mcpd sqlite:/data/shop.db
    check "PostgreSQL" with_database_server
    check "the sandbox is on" says 'sandbox: all of its parts' root /mcpd --doctor /data
    check "the process of a source is in it" sandboxed
    check "a module by path is refused" says 'is a static program' root /mcpd --module /data/hello.txt /data
    check "over TLS, and an error that names what is missing without certificates" with_tls over_tls
    check "certificates where distributions have them" with_tls with_bundles
    check "a name of a search domain" with_tls by_search_domain
    check "a login by OAuth" over_oauth
    all_tests '^modules$' # these load modules by their path
}
