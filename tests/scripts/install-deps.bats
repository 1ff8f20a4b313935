# scripts/install-deps on other simulated systems: its output, and that it installs everything or
# nothing. apt and the probed commands are small scripts in a folder of PATH.

bats_require_minimum_version 1.5.0

setup() {
    deps=$BATS_TEST_DIRNAME/../../scripts/install-deps
    mkdir "$BATS_TEST_TMPDIR/bin"
    cd "$BATS_TEST_TMPDIR"
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH OS_RELEASE=$BATS_TEST_TMPDIR/os-release
    stub pkg-config 'exit 1' # no library is installed
    stub apt-get 'echo "$*" >>apt.log'
    stub sudo '"$@"'
    stub apt-cache 'for name do :; done; ! grep -qx "$name" absent'
    : >apt.log
    : >absent
}

stub() { # NAME SCRIPT
    printf '#!/bin/sh\ncd "%s"\n%s\n' "$BATS_TEST_TMPDIR" "$2" >"bin/$1"
    chmod +x "bin/$1"
}

system() { # ID VERSION NAME
    printf 'ID=%s\nVERSION_ID="%s"\nPRETTY_NAME="%s"\n' "$@" >os-release
}

@test "a system without some packages: each is named with the release that has it, and nothing is installed" {
    system ubuntu 24.04 'Ubuntu 24.04.1 LTS'
    printf '%s\n' libyyjson-dev libllhttp-dev >absent
    run -1 --separate-stderr "$deps"
    [ -z "$output" ]
    diff - <(printf '%s\n' "$stderr") <<'END'
install-deps: Ubuntu 24.04.1 LTS does not have these packages, so nothing was installed:
    libllhttp-dev (since Debian 13, Ubuntu 25.04)
    libyyjson-dev (since Debian 13, Ubuntu 25.04)
install-deps: use one of those releases, or Debian 12, where the missing packages are installed from Debian 13
END
    ! grep -w install apt.log
}

@test "a system that has all of them: they are installed, and the tested systems are named" {
    system ubuntu 25.04 'Ubuntu 25.04'
    run -0 "$deps"
    [[ $output == *"Ubuntu 25.04 has all packages, but this script is tested on Debian 12 and 13 only"* ]]
    grep -q 'install.* libllhttp-dev.* libyyjson-dev' apt.log
    : >apt.log
    system debian 13 'Debian GNU/Linux 13 (trixie)'
    run -0 "$deps"
    [[ $output != *"tested on"* ]]
    grep -q 'install.* libllhttp-dev.* libyyjson-dev' apt.log
}

@test "if package lists cannot be downloaded, the system is not called too old" {
    system debian 13 'Debian GNU/Linux 13 (trixie)'
    stub apt-get 'exit 1'
    echo libyyjson-dev >absent
    run -1 "$deps"
    [[ $output == *"the package lists of this machine do not contain libyyjson-dev; nothing was installed"* ]]
    [[ $output != *"since"* ]]
}

@test "a system without apt: the missing packages, with Debian's names" {
    system fedora 42 'Fedora Linux 42'
    # everything else of PATH, without apt-get
    mkdir tools
    for tool in sh sed awk grep sort tr ls id cat dirname; do
        ln -s "$(command -v $tool)" tools/
    done
    ln -s ../bin/pkg-config tools/
    PATH=$BATS_TEST_TMPDIR/tools run -1 "$deps"
    [[ $output == *"Fedora Linux 42 has no apt."*libyyjson-dev* ]]
}

@test "if nothing is missing, apt is not called, and the list has the line editor of the shell" {
    stub pkg-config 'exit 0'
    system ubuntu 24.04 'Ubuntu 24.04'
    "$deps"
    [ ! -s apt.log ]
    grep -A 20 '^quickstart=' "$deps" | grep -q 'libedit2$'
}

@test "the proxies that the tests need are installed, and neither started nor enabled" {
    system debian 13 'Debian GNU/Linux 13 (trixie)'
    export POLICY_RC_D=$PWD/policy SYSTEMD=$PWD
    # A pattern that no machine has, instead of those of the proxies.
    mkdir -p tree/scripts tree/cmake tree/src
    cp "$deps" tree/scripts/
    cp "$BATS_TEST_DIRNAME/../../cmake/layers.txt" tree/cmake/
    sed -i 's|file:/usr/sbin/nginx |file:/nowhere/nginx |' tree/scripts/install-deps
    stub apt-get 'case "$*" in *install*nginx*) ./policy || echo "policy $?" ;; esac >>apt.log'
    stub systemctl 'echo "$*" >>systemctl.log; exit $(cat failure)'
    echo 0 >failure
    run -0 tree/scripts/install-deps --tests
    [ "$(cat apt.log)" = 'policy 101' ]
    [ ! -e policy ]
    grep -qE '^disable .*nginx' systemctl.log
    [[ $output != *"may start"* ]]
    # A policy of the machine remains; what could not be disabled is said.
    : >apt.log
    printf '#!/bin/sh\nexit 104\n' >policy
    chmod +x policy
    echo 1 >failure
    run -0 tree/scripts/install-deps --tests
    [ "$(cat apt.log)" = 'policy 104' ]
    [ -e policy ]
    [[ $output == *"may start with the machine:"*nginx* ]]
}

@test "an extension of PostgreSQL is installed for the version that the machine has or would get" {
    system debian 13 'Debian GNU/Linux 13 (trixie)'
    mkdir -p tree/scripts tree/cmake tree/src
    cp "$BATS_TEST_DIRNAME/../../cmake/layers.txt" tree/cmake/
    sed "s|/usr/share/postgresql/|$PWD/share/|; s|/usr/lib/postgresql/|$PWD/lib/|" "$deps" >tree/scripts/install-deps
    chmod +x tree/scripts/install-deps
    stub apt-cache 'echo "Depends: postgresql-17"; echo "Depends: postgresql-17 (>= 1)"'
    run -0 tree/scripts/install-deps --tests
    grep -qE 'install.* postgresql-17-hypopg( |$)' apt.log
    : >apt.log
    mkdir -p lib/9/bin lib/15/bin
    run -0 tree/scripts/install-deps --tests
    grep -qE 'install.* postgresql-15-hypopg( |$)' apt.log
    : >apt.log
    mkdir -p share/15/extension
    touch share/15/extension/hypopg.control
    run -0 tree/scripts/install-deps --tests
    ! grep hypopg apt.log
}
