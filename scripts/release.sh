#!/usr/bin/env bash
# Build the release of the commit that is checked out into dist/: archives for Linux and macOS, packages (.deb, .rpm),
# a container image, the modules that are inside (SBOM), and SHA-256 sums. Equal commits and an equal Go make equal
# bytes, wherever they are built. It needs git and GNU tar; NFPM and CYCLONEDX come from the Makefile.
#
#   TARGETS="linux/amd64 darwin/arm64" scripts/release.sh      some of the targets; this machine's has to be among them
#
# The commit that has the tag v0.1.0 makes 0.1.0, which CHANGELOG.md must begin with; any other makes 0.1.0-dev.gCOMMIT.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
go=${GO:-go}
targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}

say() { echo "release: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

# What this user or system has chosen for go and tar must not change a byte. Where modules and the cache are may be theirs.
for name in GOPROXY GOSUMDB GONOSUMDB GONOPROXY GOPRIVATE GOCACHE GOMODCACHE; do
	export "$name=$("$go" env "$name")"
done
export GOENV=off GOTOOLCHAIN=local GOFLAGS='' GOEXPERIMENT='' GOAMD64=v1 GOARM64=v8.0 GOFIPS140=off GOWORK=off CGO_ENABLED=0
export LC_ALL=C
export GOGC=400 # memory for time: it changes no byte
unset GZIP TAR_OPTIONS

heading=$(grep -m 1 '^## ' CHANGELOG.md) version=${heading#'## '} version=${version%%,*}
commit=$(git rev-parse HEAD)
tags=$(git tag --points-at HEAD 'v*')
if [ -z "$tags" ]; then
	version+=-dev.g${commit::12}
elif [ "$tags" != "v$version" ] || [ "$heading" != "## $version" ]; then
	fail "the commit is tagged ${tags//$'\n'/, }, but CHANGELOG.md begins with \"$heading\": make them the same version"
fi
git diff --quiet HEAD || say 'changes that are not committed are left out'
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# Go takes the version from the tag, so a clone has it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
src=$work/src out=$work/dist name=lockbench_$version
git clone -q --shared --no-tags --no-checkout . "$src"
git -C "$src" -c advice.detachedHead=false checkout -q "$commit"
git -C "$src" tag "v$version"
mkdir "$out"

for target in $targets; do
	stage=$work/${name}_${target/\//_}
	mkdir "$stage"
	say "building $version for $target, which takes minutes if nothing of it is in the cache"
	GOOS=${target%/*} GOARCH=${target#*/} "$go" -C "$src" build -trimpath -buildvcs=true -ldflags='-s -w' \
		-o "$stage/lockbench" ./cmd/lockbench
	built=$("$go" version -m "$stage/lockbench" | awk '$1 == "mod" { print $3 }')
	[ "$built" = "v$version" ] || fail "$target: the version of the binary is $built, not v$version"
done

here=$work/${name}_$("$go" env GOHOSTOS)_$("$go" env GOHOSTARCH)/lockbench
[ -x "$here" ] || fail "TARGETS=\"$targets\" has not this machine's $("$go" env GOHOSTOS)/$("$go" env GOHOSTARCH), which prints the completions"
mkdir "$work/completions"
for shell in bash zsh fish; do "$here" completion "$shell" >"$work/completions/lockbench.$shell"; done

pack() { # DIRECTORY NAME…: a tar of the same bytes whenever and by whomever it is written
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=ustar -cC "$@"
}

say "building the tools that pack it"
for tool in "$NFPM" "$CYCLONEDX"; do GOBIN=$work "$go" install -trimpath "$tool"; done
for target in $targets; do
	stage=$work/${name}_${target/\//_}
	say "packing $target"
	cp -r "$work/completions" "$src/LICENSE" "$src/CHANGELOG.md" "$stage"
	find "$stage" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
	pack "$work" "${stage##*/}" | gzip -n >"$out/${stage##*/}.tar.gz"
	[ "${target%/*}" = linux ] || continue
	for format in deb rpm; do
		(cd "$stage" && VERSION=$version ARCH=${target#*/} "$work/nfpm" package -f "$src/scripts/release/nfpm.yaml" -p "$format" -t "$out" >/dev/null)
	done
done

# The image, as the specification of OCI image layouts has it: blobs are named after their digests, and a descriptor
# says of which type and size one is. It holds lockbench and a directory for temporary files, and no root's rights.
layout=$work/image
mkdir -p "$layout/blobs/sha256"
blob() { # TYPE FILE: moves the file among the blobs and prints its descriptor, without the braces
	local digest
	digest=$(sha256sum <"$2") digest=${digest%% *}
	printf '"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%d' "$1" "$digest" "$(wc -c <"$2")"
	mv "$2" "$layout/blobs/sha256/$digest"
}
manifests=()
for target in $targets; do
	[ "${target%/*}" = linux ] || continue
	platform="\"os\":\"linux\",\"architecture\":\"${target#*/}\"" root=$work/root
	mkdir -p "$root/usr/bin" "$root/tmp"
	chmod 1777 "$root/tmp"
	cp "$work/${name}_${target/\//_}/lockbench" "$root/usr/bin/"
	pack "$root" tmp usr >"$work/layer"
	diff=$(sha256sum <"$work/layer") diff=${diff%% *}
	gzip -n "$work/layer"
	layer=$(blob layer.v1.tar+gzip "$work/layer.gz")
	cat >"$work/json" <<-END
		{"created":"$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)",$platform,
		"config":{"User":"65534:65534","Entrypoint":["/usr/bin/lockbench"],"WorkingDir":"/tmp","Labels":{
		"org.opencontainers.image.source":"https://github.com/lockbench/lockbench","org.opencontainers.image.licenses":"Apache-2.0",
		"org.opencontainers.image.version":"$version","org.opencontainers.image.revision":"$commit"}},
		"rootfs":{"type":"layers","diff_ids":["sha256:$diff"]}}
	END
	config=$(blob config.v1+json "$work/json")
	echo "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"config\":{$config},\"layers\":[{$layer}]}" >"$work/json"
	manifests+=("{$(blob manifest.v1+json "$work/json"),\"platform\":{$platform}}")
done
index() { # DESCRIPTORS
	echo "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\",\"manifests\":[$1]}" >"$work/json"
}
index "$(IFS=, && echo "${manifests[*]}")"
index "{$(blob index.v1+json "$work/json"),\"annotations\":{\"org.opencontainers.image.ref.name\":\"$version\"}}"
mv "$work/json" "$layout/index.json"
echo '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
pack "$layout" blobs index.json oci-layout >"$out/${name}_image.tar"

"$work/cyclonedx-gomod" bin -json -std -noserial -notimestamp -output "$out/${name}_sbom.json" "$here"
(cd "$out" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
rm -rf dist
mv "$out" dist
du -h --apparent-size dist/*
