#!/bin/sh
# Install what this project needs: apt packages, a Python environment, a kernel.
# Safe to run again at any time; what is there already costs nothing.
set -eu
cd "$(dirname "$0")/.."

PACKAGES="bc binutils bison bzip2 chromium chromium-driver ethtool flex gcc git iperf3 \
iproute2 libc6-dev libelf-dev linux-source-6.12 make mininet patch procps python3-dev \
python3-venv qemu-system-x86 tshark util-linux xz-utils"

say() { printf '==> %s\n' "$*"; }
die() {
    printf 'setup: %s\n  to fix it: %s\n' "$1" "$2" >&2
    exit 3
}

missing_packages() {
    for package in $PACKAGES; do
        state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
        case $state in ii*) ;; *) printf '%s ' "$package" ;; esac
    done
}

install_packages() {
    command -v dpkg-query >/dev/null ||
        die "this is not Debian or Ubuntu" "install by hand: $PACKAGES"
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    line="apt-get install -y --no-install-recommends $missing"
    if [ "$(id -u)" = 0 ]; then
        sudo=
    elif command -v sudo >/dev/null; then
        sudo=sudo
    else
        die "missing packages, and neither root nor sudo" "as root: $line"
    fi
    say "installing packages: $missing"
    $sudo apt-get update -q || die "apt-get update failed" "check the network and /etc/apt"
    # shellcheck disable=SC2086  # a list of words
    $sudo env DEBIAN_FRONTEND=noninteractive $line ||
        die "apt-get could not install them all" \
            "on a release without linux-source-6.12, give KERNEL_SOURCE=linux-6.12.tar.xz"
}

# Its package starts a netserver for all the world at every boot, and Debian has it in
# non-free: whether to have it is not for us to say.
mention_netperf() {
    command -v netperf >/dev/null && command -v netserver >/dev/null && return 0
    say "netperf is not installed: \`driver: netperf\` will not run, and is not tested"
}

find_python() {
    for python in "${PYTHON:-python3}" python3 python3.13 python3.12 python3.11 python3.10; do
        if "$python" -c 'import sys, venv, ensurepip
sys.exit(not (3, 10) <= sys.version_info)' 2>/dev/null; then
            command -v "$python"
            return
        fi
    done
    die "no Python 3.10 or newer with venv" "apt-get install python3 python3-venv"
}

make_environment() {
    stamp=.venv/installed
    wanted=$(cat setup.cfg pyproject.toml | sha256sum)
    if [ -x .venv/bin/python ] && [ "$(cat $stamp 2>/dev/null)" = "$wanted" ]; then
        return 0
    fi
    python=$(find_python)
    say "making .venv with $python and installing the Python packages"
    rm -rf .venv
    "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
    printf '%s\n' "$wanted" >$stamp
}

build_kernel() {
    if [ -n "${KERNEL_SOURCE:-}" ]; then
        set -- --source "$KERNEL_SOURCE"
        PACKAGES=$(printf '%s' "$PACKAGES" | sed 's/linux-source-[0-9.]* //')
    fi
    say "kernel 6.12 (built once, about five minutes; later found in the cache)"
    .venv/bin/python -m testbed kernel build 6.12 "$@"
}

# With mypyc, five times as fast; without, the same.
compile_model() {
    say "the sender model (compiled once, about a minute)"
    .venv/bin/python -m testbed.compiled
}

# Without a C compiler's linker numba compiles it when it is first used.
compile_reader() {
    say "the capture reader (compiled once, about a minute)"
    .venv/bin/python -m testbed.trace.ahead
}

install_packages
mention_netperf
make_environment
compile_model
compile_reader
build_kernel
