# sources.sh: the sources of the libraries that the static programs contain, from Debian's archives. For scripts,
# which set $sources (the folder that holds them) before they source this file.

# Writes a configuration of apt with these suites; /etc/apt is not changed.
sources_configure() { # name, suite...
    apt=$sources/apt/$1
    mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    cat >"$apt/apt.conf" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$apt/sources";
Dir::State::status "$apt/status";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Architectures { "amd64"; "arm64"; };
APT::Sandbox::User "root";
END
    shift
    for suite in "$@"; do
        case $suite in *-security) label=Debian-Security ;; *) label=Debian ;; esac
        archive=$(awk -v label="$label" '$1 == label { print $2; exit }' "$sources/apt/archives")
        [ -n "$archive" ] || { echo "apt has no source of $label on this machine (apt-get indextargets)" >&2; return 1; }
        cat >"$apt/sources/$suite.sources" <<END
Types: deb-src deb
URIs: $archive
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    done
    APT_CONFIG="$apt/apt.conf" apt-get -q update >/dev/null
}

sources_prepare() { # release...
    [ ! -e "$sources/apt/done" ] || return 0
    mkdir -p "$sources/apt"
    apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sort -u >"$sources/apt/archives"
    for release in "$@"; do
        sources_configure "$release-security" "$release" "$release-security"
        sources_configure "$release" "$release"
    done
    : >"$sources/apt/done"
}

# Downloads a source package into this folder, in the newest version that the archives have. While an archive is
# updated it lacks files of some versions, and those of the security archive may be in the other one.
sources_download() { # package, release, option...
    package=$1 release=$2
    shift 2
    for version in $(APT_CONFIG="$sources/apt/$release-security/apt.conf" apt-cache showsrc "$package" | awk '$1 == "Version:" { print $2 }' | sort -Vru); do
        for suites in "$release-security" "$release"; do
            if APT_CONFIG="$sources/apt/$suites/apt.conf" apt-get -q --download-only "$@" source "$package=$version" >/dev/null 2>&1; then
                echo "$version"
                return 0
            fi
        done
    done
    return 1
}

# Unpacks a source package with Debian's patches into $sources/PACKAGE, security updates included; the upstream source
# without the patches if the archives have no version in full; that of a later named release if they have no source of the
# first one. Writes the version to $sources/PACKAGE.version.
sources_unpack() { # package, release...
    [ ! -e "$sources/$1.version" ] || return 0
    rm -rf "${sources:?}/$1" "$sources/$1.files"
    mkdir -p "$sources/$1.files"
    (
        cd "$sources/$1.files" || exit 1
        unpacked=$1
        shift
        for suite in "$@"; do
            if version=$(sources_download "$unpacked" "$suite"); then
                dpkg-source --no-check -x "$(ls -- *_"${version#*:}".dsc)" "../$unpacked" >/dev/null
            elif version=$(sources_download "$unpacked" "$suite" --tar-only); then
                mkdir -p "../$unpacked"
                tar -xf "$(ls -- *.orig.tar.* | grep -v '\.asc$' | head -n 1)" -C "../$unpacked" --strip-components=1
                version="$version, without Debian's patches"
            else
                continue
            fi
            echo "$version" >"../$unpacked.version"
            exit 0
        done
        echo "the archives have no source of $unpacked" >&2
        exit 1
    )
}

# Prints the licence of a source: Debian's file about its copyright, or the project's own.
sources_licence() { # package
    for from in "$sources/$1"/debian/copyright "$sources/$1"/LICENSE* "$sources/$1"/COPYING*; do
        [ ! -f "$from" ] || { cat "$from"; return; }
    done
    echo "the source of $1 has no licence" >&2
    return 1
}
