# debian-sources.sh: downloads the source packages of a Debian release. For scripts, which set
# $folder (where the packages are stored) before they source this file.

# Downloads with a separate configuration of apt; /etc/apt is not changed.
fetch() { # release, package...
    release=$1
    shift
    apt=$folder/apt
    rm -rf "$apt/sources"
    mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial"
    mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && $2 !~ /security/ { print $2; exit }')
    [ -n "$mirror" ] || { echo "apt has no source of Debian's packages on this machine (apt-get indextargets)" >&2; return 1; }
    cat >"$apt/sources/$release.sources" <<END
Types: deb-src
URIs: $mirror
Suites: $release
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    cat >"$apt/apt.conf" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$apt/sources";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
END
    (
        cd "$folder" || exit
        export APT_CONFIG="$apt/apt.conf"
        apt-get -q -o APT::Sandbox::User=root update
        apt-get -q -o APT::Sandbox::User=root --download-only --tar-only source "$@"
    )
}

# Unpacks the upstream source of a package into the folder of its name, and downloads it before if
# necessary.
unpack() { # release, package
    [ -e "$(ls "$folder/$2"_*.orig.tar.* 2>/dev/null | head -n 1)" ] || fetch "$1" "$2"
    mkdir -p "$folder/$2"
    tar -xf "$(ls "$folder/$2"_*.orig.tar.* | grep -v '\.asc$' | head -n 1)" -C "$folder/$2" --strip-components=1
}
