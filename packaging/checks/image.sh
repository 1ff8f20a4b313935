# image.sh: the image of packaging/image, as a container would have it. For packaging/check.

image=$work/image # its root; beside it its configuration

unpack() { # ARCHITECTURE FOLDER
    local blobs=$work/oci/blobs/sha256 list manifest layer
    [ -d "$work/oci" ] || { mkdir "$work/oci" && tar -xf "$(echo "$folder"/mcpd-*.oci.tar)" -C "$work/oci"; } || return 1
    list=$(jq -r '.manifests[0].digest | sub("sha256:"; "")' "$work/oci/index.json")
    manifest=$(jq -r --arg architecture "$1" '.manifests[] | select(.platform.architecture == $architecture).digest | sub("sha256:"; "")' "$blobs/$list")
    [ -n "$manifest" ] || { echo "no image for $1"; return 1; }
    mkdir -p "$2"
    for layer in $(jq -r '.layers[].digest | sub("sha256:"; "")' "$blobs/$manifest"); do tar -xf "$blobs/$layer" -C "$2" || return 1; done
    jq .config "$blobs/$(jq -r '.config.digest | sub("sha256:"; "")' "$blobs/$manifest")" >"$2.config"
}

# The stand-in for docker: "docker run" with the options of the entry, as docker does it. What it does not know is an error.
make_docker() {
    mkdir -p "$image.run"
    cat >"$work/bin/docker" <<'END'
#!/usr/bin/env bash
set -euo pipefail
mounts=() network=() seen=
[ "$1" = run ] || exit 125
shift
while [[ $1 == -* ]]; do
    seen+="$1 "
    case $1 in
        -i | --rm | --read-only) shift; continue ;;
        --cap-drop) [ "$2" = ALL ] ;;
        --security-opt) [ "$2" = no-new-privileges ] ;;
        --network) [ "$2" = none ] && network=(--net) ;;
        --mount) mounts+=("$2") ;;
        *) echo "docker: unknown option $1" >&2; exit 125 ;;
    esac
    shift 2
done
for word in -i --rm --read-only --cap-drop --security-opt; do
    [[ $seen == *"$word "* ]] || { echo "docker: without $word" >&2; exit 125; }
done
[[ $1 == "$NAME":* ]] || { echo "docker: another image: $1" >&2; exit 125; }
shift
exec unshare --mount --pid --fork --kill-child ${network[@]+"${network[@]}"} bash -c '
    set -euo pipefail
    n=$1 root=$IMAGE.run
    shift
    mount --make-rprivate /
    mount -t tmpfs tmpfs "$root"
    cp -a "$IMAGE/." "$root/"
    mkdir -p "$root/proc" "$root/dev"
    : >"$root/dev/null"
    for ((i = 0; i < n; i++)); do
        [[ $1 =~ ^type=bind,source=([^,]*),target=([^,]*),readonly$ ]] || { echo "docker: mount $1" >&2; exit 125; }
        from=${BASH_REMATCH[1]} to=$root${BASH_REMATCH[2]}
        if [ -d "$from" ]; then mkdir -p "$to"; else mkdir -p "${to%/*}"; : >>"$to"; fi
        mount --bind "$from" "$to"
        mount -o remount,bind,ro "$to"
        shift
    done
    mount -t proc proc "$root/proc"
    mount --bind /dev/null "$root/dev/null"
    mount -o remount,ro "$root"
    user=$(jq -r .User "$IMAGE.config")
    mapfile -t env < <(jq -r ".Env[]" "$IMAGE.config")
    mapfile -t entrypoint < <(jq -r ".Entrypoint[]" "$IMAGE.config")
    exec env -i "${env[@]}" "$(command -v setpriv)" --no-new-privs --clear-groups \
        "$(command -v unshare)" --root "$root" --setuid "${user%:*}" --setgid "${user#*:}" "${entrypoint[@]}" "$@"' docker \
    "${#mounts[@]}" ${mounts[@]+"${mounts[@]}"} "$@"
END
    chmod +x "$work/bin/docker"
}

container() { IMAGE=$image NAME=$image_name PATH=$work/bin:$PATH "$@"; }
docker_run() { container docker run -i --rm --read-only --cap-drop ALL --security-opt no-new-privileges "$@"; }

image_contents() {
    diff - <(cd "$image" && find . -type f | LC_ALL=C sort) <<'END' || return 1
./LICENCES.txt
./LICENSE
./PARTS.spdx.json
./etc/group
./etc/passwd
./etc/ssl/certs/ca-certificates.crt
./usr/bin/mcpd
END
    [ -z "$(find "$image" -perm /6022 ! -type l)" ] && [ "$(grep -c 'BEGIN CERT' "$image/etc/ssl/certs/ca-certificates.crt")" -gt 100 ] &&
        [ "$(jq -r .User "$image.config")" = 65532:65532 ]
}

the_entry() { # SOURCE URI PATTERN: the entry of --via docker, as it is printed
    local words
    mapfile -t words < <("$image/usr/bin/mcpd" --print-config cursor --via docker "$1" 2>/dev/null | jq -r '.mcpServers.mcpd | .command, .args[]')
    says "$3" container "$MCPCTL" read "$2" -- "${words[@]}"
}

waits_for() { # URL: its status is 200
    local i
    for ((i = 0; i < 200; i++)); do
        "$image/usr/bin/mcpd" --check-health "$1" 2>/dev/null && return 0
        sleep 0.1
    done
    "$image/usr/bin/mcpd" --check-health "$1"
}

authorities() { # the file of the image is used, and nothing else
    local rc
    (unset SSL_CERT_FILE && exec "$image/usr/bin/mcpd" --http 127.0.0.1:18643 --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" "$work/data") 2>"$work/log" &
    local server=$!
    cat "$image/etc/ssl/certs/ca-certificates.crt" "$work/cert.pem" >"$work/authorities.crt"
    SSL_CERT_FILE=$work/cert.pem waits_for https://127.0.0.1:18643/healthz &&
        docker_run --mount "type=bind,source=$work/authorities.crt,target=/etc/ssl/certs/ca-certificates.crt,readonly" "$image_name:x" \
            --check-health https://127.0.0.1:18643/healthz &&
        says 'certificate' docker_run "$image_name:x" --check-health https://127.0.0.1:18643/healthz
    rc=$?
    kill $server
    wait $server 2>/dev/null
    return $rc
}

manifests() {
    (cd packaging/kubernetes/types && go run . "$folder/mcpd-kubernetes.yaml") >"$work/manifests.json"
}

wait_for_probes() {
    local path
    for path in $(jq -r "$pod"'.containers[0] | .startupProbe, .readinessProbe, .livenessProbe | .httpGet | "http://127.0.0.1:\(.port)\(.path)"' "$work/manifests.json"); do
        waits_for "$path" || return 1
    done
}

# The container of the deployment with its arguments and volumes; its probes succeed, and a client with a token reads.
deployment() {
    local mounts=() path name source rc
    local pod='.[] | select(.kind == "Deployment").spec.template.spec'
    mkdir -p "$work/volumes/mcpd" "$work/volumes/mcpd-tokens"
    jq -r '.[] | select(.kind == "ConfigMap").data["mcpd.json"]' "$work/manifests.json" >"$work/volumes/mcpd/mcpd.json"
    echo 'ada:0123456789abcdef0123456789abcdef0123' >"$work/volumes/mcpd-tokens/tokens"
    chgrp 65532 "$work/volumes/mcpd-tokens/tokens" && chmod 440 "$work/volumes/mcpd-tokens/tokens"
    ln -sfn "$work/data" "$work/volumes/mcpd-data"
    while IFS=$'\t' read -r name path; do
        source=$(jq -r --arg name "$name" "$pod"'.volumes[] | select(.name == $name) | .configMap.name // .secret.secretName // .persistentVolumeClaim.claimName' "$work/manifests.json")
        mounts+=(--mount "type=bind,source=$(realpath "$work/volumes/$source"),target=$path,readonly")
    done < <(jq -r "$pod"'.containers[0].volumeMounts[] | "\(.name)\t\(.mountPath)"' "$work/manifests.json")
    mapfile -t words < <(jq -r "$pod"'.containers[0].args[]' "$work/manifests.json")
    docker_run "${mounts[@]}" "$image_name:x" "${words[@]}" >/dev/null 2>"$work/log" &
    local server=$!
    wait_for_probes && says hello "$MCPCTL" read file:///srv/mcp/hello.txt -s http://127.0.0.1:8642/mcp \
        -H 'Authorization: Bearer 0123456789abcdef0123456789abcdef0123' && ! grep -i 'warning' "$work/log"
    rc=$?
    pkill -KILL -P "$(pgrep -P $server)" # the first process of the container
    wait $server 2>/dev/null
    [ $rc -eq 0 ] || cat "$work/log"
    return $rc
}

check_image() {
    : "${MCPCTL:=mcpctl}"
    local architecture
    case $(uname -m) in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; esac
    image_name=$(jq -r .image packaging/names.json)
    chmod 755 "$work"
    mkdir -p "$work/bin" "$work/my data" "$work/data"
    echo hello | tee "$work/my data/hello.txt" >"$work/data/hello.txt"
    sqlite3 "$work/data/shop.db" 'create table item(id integer primary key, name text); insert into item values(1, "pen")'
    git init -q "$work/data/lib"
    git -C "$work/data/lib" -c user.name=a -c user.email=a@b commit -q --allow-empty -m 'first words'
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/cert.pem" -days 2 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    check "the image of this machine" unpack "$architecture" "$image"
    make_docker
    check "what it contains; its user" image_contents
    check "the printed entry: a folder with a blank" the_entry "$work/my data" "file://${work// /%20}/my%20data/hello.txt" hello
    check "the printed entry: a repository" the_entry "git:$work/data/lib" git://lib/-/log/HEAD 'first words'
    check "the printed entry: a database" the_entry "sqlite:$work/data/shop.db" sqlite://shop/item/rows pen
    check "the sandbox is on" says 'sandbox: all of its parts' docker_run --network none --mount "type=bind,source=$work/data,target=/data,readonly" "$image_name:x" --doctor /data
    check "certificates of authorities; its health check over TLS" authorities
    check "the manifests have the types of Kubernetes' API" manifests
    check "the deployment's container: its probes, and a client" deployment
    if command -v qemu-aarch64 >/dev/null; then
        check "the image for arm64" unpack arm64 "$work/arm64"
        check "its program starts" says 'openssl 3' qemu-aarch64 "$work/arm64/usr/bin/mcpd" --version --verbose
    fi
}
