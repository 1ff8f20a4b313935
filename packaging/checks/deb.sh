# deb.sh: the Debian packages, in a minbase folder of this machine's release. For packaging/check.

inside() { # COMMAND...: in the minbase folder
    chroot "$work/debian" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root "$@"
}

make_debian() {
    local codename archive
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    archive=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "Debian" { print $2; exit }')
    debootstrap --variant=minbase "$codename" "$work/debian" "$archive" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; return 1; }
    cp -L /etc/resolv.conf /etc/hosts "$work/debian/etc/"
    rm -f "$work/debian/etc/apt/sources.list"
    cp -r /etc/apt/sources.list* "$work/debian/etc/apt/" 2>/dev/null
    cp -r /etc/apt/apt.conf.d/. "$work/debian/etc/apt/apt.conf.d/"
    mount --bind /proc "$work/debian/proc"
    mkdir "$work/debian/packages"
    cp "$folder"/*.deb "$work/debian/packages/"
    inside apt-get -q update
}

# The files of the system, without those of package managers and logs.
listing() {
    (cd "$work/debian" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./packages -o -path ./var/lib/dpkg -o -path ./var/cache -o \
        -path ./var/lib/apt -o -path ./var/log -o -path ./tmp -o -path ./run \) -prune -o -print | sort)
}

older() { # makes packages of an older version
    local deb
    mkdir -p "$work/older" "$work/debian/older"
    for deb in "$folder"/mcpd_*.deb "$folder"/mcpctl_*.deb; do
        rm -rf "$work/older/tree"
        dpkg-deb -R "$deb" "$work/older/tree" && sed -i 's/^Version: .*/Version: 0.0.1/' "$work/older/tree/DEBIAN/control" &&
            dpkg-deb -b "$work/older/tree" "$work/debian/older/$(basename "$deb")" >/dev/null || return 1
    done
}

with_sources() {
    inside apt-get -q -y --no-install-recommends install git sqlite3 >/dev/null
    inside sh -e -c 'cd /tmp && git init -q lib && git -C lib -c user.name=a -c user.email=a@b commit -q --allow-empty -m "first words"
        sqlite3 shop.db "create table item(id integer primary key, name text); insert into item values(1, \"pen\")"'
    says 'first words' inside mcpctl read git://lib/-/log/HEAD -- mcpd git:/tmp/lib &&
        says pen inside mcpctl read sqlite://shop/item/rows -- mcpd sqlite:/tmp/shop.db
}

with_postgres() {
    inside apt-get -q -y --no-install-recommends install postgresql >/dev/null 2>&1
    echo "create table item(id int primary key, name text); insert into item values(1, 'pen'); create role reader login;
        grant select on item to reader" >"$work/debian/tmp/shop.sql"
    inside sh -e -c 'd=$(mktemp -d); chown postgres "$d"; b=$(echo /usr/lib/postgresql/*/bin)
        as() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
        as $b/initdb -D $d/data >/dev/null
        as $b/pg_ctl -D $d/data -o "-k $d -c listen_addresses=" -w start >/dev/null
        as psql -q -h $d -d postgres -f /tmp/shop.sql
        mcpctl read postgres://shop/public/item/rows -- mcpd "postgres:host=$d dbname=postgres user=reader?name=shop" >/tmp/rows || true
        as $b/pg_ctl -D $d/data -m immediate stop >/dev/null
        grep pen /tmp/rows'
}

compiles() {
    inside apt-get -q -y --no-install-recommends install gcc libc6-dev pkg-config >/dev/null &&
        inside apt-get -q -y --no-install-recommends install /packages/libmcp-dev_*.deb /packages/libmcp0*.deb /packages/libmcp-doc_*.deb >/dev/null 2>&1 ||
        inside sh -c 'apt-get -q -y install /packages/libmcp*.deb' >/dev/null
    inside sh -e -c 'cc /usr/share/doc/libmcp-dev/examples/hello.c -o /tmp/hello $(pkg-config --cflags --libs mcp-io)' &&
        inside mcpctl tools -- /tmp/hello
}

# The unit as systemd reads it; its exposure is at most 2.0.
unit_is_confined() {
    inside apt-get -q -y --no-install-recommends install systemd >/dev/null 2>&1
    inside systemd-analyze security --offline=true --threshold=20 --no-pager /lib/systemd/system/mcpd.service | tail -n 3 &&
        inside systemd-analyze verify --man=no /lib/systemd/system/mcpd.service /lib/systemd/system/mcpd.socket
}

# debian/tests, as Debian runs them.
debian_tests() {
    env -u TMPDIR autopkgtest --no-built-binaries "$folder"/*.deb "$folder/libmcp" -- chroot "$work/debian"
}

# As the unit: the user, its folders, everything else read-only, the page's configuration with a token.
as_unit() {
    inside sh -e -c 'systemd-tmpfiles --create mcpd.conf 2>/dev/null || { install -d -m 750 -g mcpd /etc/mcpd
            install -d -m 700 -o mcpd -g mcpd /var/lib/mcpd; install -d -m 750 -o mcpd -g adm /var/log/mcpd; }
        mkdir -p /srv/mcp && echo hello >/srv/mcp/hello.txt
        cp /usr/share/doc/mcpd/examples/mcpd.json /etc/mcpd/ && echo "ada:0123456789abcdef0123456789abcdef0123" >/etc/mcpd/tokens
        chgrp mcpd /etc/mcpd/* && chmod 640 /etc/mcpd/*'
    unshare --mount sh -e -c 'root=$1; mount --bind "$root" "$root"; mount --bind "$root/var/lib/mcpd" "$root/var/lib/mcpd"
        mount --bind "$root/var/log/mcpd" "$root/var/log/mcpd"; mount -o remount,bind,ro "$root"
        exec chroot "$root" setpriv --reuid mcpd --regid mcpd --clear-groups --no-new-privs --bounding-set=-all \
            env -i HOME=/var/lib/mcpd PATH=/usr/bin:/bin mcpd --config /etc/mcpd/mcpd.json' unit "$work/debian" 2>"$work/unit.log" &
    local server=$! rc i
    for ((i = 0; i < 100; i++)); do
        [ "$(curl -s http://127.0.0.1:8642/healthz -o /dev/null -w '%{http_code}')" = 200 ] && break
        sleep 0.1
    done
    says hello inside mcpctl read file:///srv/mcp/hello.txt -s http://127.0.0.1:8642/mcp -H 'Authorization: Bearer 0123456789abcdef0123456789abcdef0123' &&
        grep -q resources/read "$work/debian/var/log/mcpd/audit" && ! grep -i warning "$work/unit.log"
    rc=$?
    kill $server
    wait $server 2>/dev/null
    [ $rc -eq 0 ] || cat "$work/unit.log"
    return $rc
}

# What the administrator made goes with the administrator; what mcpd wrote goes with the package.
purges() {
    inside rm -rf /etc/mcpd/mcpd.json /etc/mcpd/tokens /srv/mcp
    inside sh -c 'apt-get -q -y purge mcpd mcpctl "libmcp*" && apt-get -q -y autoremove --purge' >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
    listing >"$work/after"
    diff "$work/before" "$work/after" >"$work/differences"
    ! grep -E '^[<>].*mcp' "$work/differences"
}

check_deb() {
    check "a minbase folder" make_debian
    older
    listing >"$work/before"
    check "the older version" inside sh -c 'apt-get -q -y install /older/*.deb'
    check "the upgrade" inside sh -c 'apt-get -q -y install /packages/mcpd_*.deb /packages/mcpctl_*.deb && mcpd --version'
    check "mcpctl ls -- mcpd /etc/hostname" says file:///etc/hostname inside mcpctl ls -- mcpd /etc/hostname
    check "git and SQLite" with_sources
    check "PostgreSQL" with_postgres
    check "the unit's exposure" unit_is_confined
    check "as the unit" as_unit
    check "a program against libmcp-dev" compiles
    if command -v autopkgtest >/dev/null; then
        check "autopkgtest" debian_tests
    fi
    check "purge leaves nothing" purges
    if command -v lintian >/dev/null; then
        check "lintian" lintian --fail-on error,warning "$folder"/*.deb
    fi
}
