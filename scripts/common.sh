# shellcheck shell=bash
# Sourced by the other scripts: where the repository is, how to talk, how wide
# to build.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# A line for people; stdout stays free for results.
say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# The build directory of a preset: build for release, build-<preset> for others.
build_dir() {
  if [[ $1 == release ]]; then
    printf '%s/build\n' "$root"
  else
    printf '%s/build-%s\n' "$root" "$1"
  fi
}

# Compilers to run at once: one per core, but no more than there is memory for.
# A file that includes MLIR takes up to 1.5 GB. TPSP_JOBS overrides.
build_jobs() {
  if [[ -n ${TPSP_JOBS:-} ]]; then
    printf '%s\n' "$TPSP_JOBS"
    return
  fi
  local cores fits
  cores=$(nproc)
  fits=$(awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo)
  ((fits >= 1)) || fits=1
  printf '%s\n' "$((cores < fits ? cores : fits))"
}
